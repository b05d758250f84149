"""Taking a submission in: what is checked before a row exists, and how it gets into the queue."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from django.contrib.auth import get_user_model
from django.contrib.sessions.models import Session
from django.db import transaction

from web.hardware import UnknownHardware, hardware_for
from web.submissions.lifecycle import start_attempt
from web.submissions.models import Submission
from web.submissions.owners import Owner

MAX_SOURCE_BYTES = 64 * 1024
MAX_UNFINISHED = 3
MAX_KEY_LENGTH = 200


class Refused(ValueError):
    """A submission that is not taken; the text says why and what to do."""


@dataclass(frozen=True)
class Posted:
    """What somebody sends. `problem` is the slug with underscores; `languages` are the problem's."""

    problem: str
    problem_version: int
    languages: tuple[str, ...]
    language: str
    mode: str
    source: str
    idempotency_key: str = ""


def submit(owner: Owner, posted: Posted) -> Submission:
    """Store the submission and, after the commit, send it to be judged.

    The same key with the same content gives the submission that exists already: a retried request
    makes no second one. An owner has at most MAX_UNFINISHED on their way, however many requests come
    at once.

    Raises:
        Refused: with a message for the person who posted.
    """
    hardware = _checked(owner, posted)
    key = _effective_key(posted)
    with transaction.atomic():
        _lock(owner)
        existing = owner.submissions().filter(idempotency_key=key).first() if key else None
        if existing:
            return existing
        unfinished = owner.submissions().exclude(state=Submission.State.DONE).count()
        if unfinished >= MAX_UNFINISHED:
            raise Refused(
                f"{unfinished} of your submissions are still being judged, which is as many as one "
                "person may have on the way. Wait for one of them, then press the button again."
            )
        submission = Submission.objects.create(
            problem=posted.problem,
            problem_version=posted.problem_version,
            language=posted.language,
            hardware=hardware,
            mode=posted.mode,
            source=posted.source,
            source_sha256=hashlib.sha256(posted.source.encode()).hexdigest(),
            user=owner.user,
            visitor=owner.visitor,
            idempotency_key=key,
        )
        start_attempt(submission, number=1)
    return submission


def _checked(owner: Owner, posted: Posted) -> str:
    """The hardware that will judge it."""
    if posted.mode not in Submission.Mode.values:
        raise Refused("Press Run or Submit: the request said neither.")
    if posted.mode == Submission.Mode.SUBMIT and not owner.user:
        raise Refused("Log in or sign up to submit. Run works without an account.")
    if posted.language not in posted.languages:
        raise Refused(f"This problem takes {' or '.join(posted.languages)}: choose one of them.")
    if len(posted.idempotency_key) > MAX_KEY_LENGTH:
        raise Refused(
            f"The idempotency key is longer than {MAX_KEY_LENGTH} characters: shorten it."
        )
    _check_source(posted.source)
    try:
        return hardware_for(posted.language).name
    except UnknownHardware:
        raise Refused(
            f"No judge of this site takes {posted.language}: choose another language."
        ) from None


def _check_source(source: str) -> None:
    if not source.strip():
        raise Refused("The source is empty: write a function called backward.")
    try:
        size = len(source.encode())
    except UnicodeEncodeError:
        raise Refused("The source is not valid Unicode text: save the file as UTF-8.") from None
    if "\0" in source:
        raise Refused("The source contains a NUL character: remove it.")
    if size > MAX_SOURCE_BYTES:
        raise Refused(
            f"The source is {size} bytes long and at most {MAX_SOURCE_BYTES} are taken: shorten it."
        )


def _effective_key(posted: Posted) -> str:
    """The client's key tied to the content, so that an old page's key never hides a new source."""
    if not posted.idempotency_key:
        return ""
    parts = (
        posted.idempotency_key,
        posted.problem,
        posted.language,
        posted.mode,
        posted.source,
    )
    return hashlib.sha256("\0".join(parts).encode(errors="replace")).hexdigest()


def _lock(owner: Owner) -> None:
    """Let one request of an owner count and create at a time. SQLite has one writer anyway."""
    if owner.user:
        get_user_model().objects.select_for_update().get(pk=owner.user.pk)
    else:
        Session.objects.select_for_update().filter(pk=owner.session_key).first()
