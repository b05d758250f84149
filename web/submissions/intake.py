"""Taking a submission in: what is checked before a row exists, and how it gets into the queue."""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.sessions.models import Session
from django.db import transaction
from structlog.contextvars import bind_contextvars

from web.hardware import UnknownHardware, hardware_for
from web.limits.rates import Exceeded, count_post, span
from web.submissions.lifecycle import start_attempt
from web.submissions.models import Submission
from web.submissions.owners import Owner

logger = logging.getLogger(__name__)

MAX_SOURCE_BYTES = 64 * 1024
MAX_KEY_LENGTH = 200
# Seconds after which asking again makes sense to a program: nobody knows when one of its own ends.
UNFINISHED_WAIT = 5

_LIMITED = {
    "user": "person",
    "visitor": "address without an account, and more with one",
    "address": "address",
}


class Refused(ValueError):
    """A submission that is not taken; the text says why and what to do."""


class TooMany(Refused):
    """A submission that is not taken now; `wait` says after how many seconds it may be."""

    def __init__(self, message: str, wait: int) -> None:
        super().__init__(message)
        self.wait = wait


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


def refuse_stranger(owner: Owner, posted: Posted, network: str) -> None:
    """Refuse somebody without account and session before a session is stored for them; counts nothing.

    Raises:
        Refused: as `submit` does.
    """
    if owner.user or owner.visitor:
        return
    _checked(owner, posted)
    with transaction.atomic():
        limit = count_post(user=None, network=network)
        transaction.set_rollback(True)
    if limit:
        raise _too_often(limit)


def submit(owner: Owner, posted: Posted, network: str = "") -> Submission:
    """Store the submission and, after the commit, send it to be judged.

    The same key with the same content gives the submission that exists already: a retried request
    makes no second one, and is not counted. An owner has at most BACKPASS_MAX_UNFINISHED on their way,
    however many requests come at once, and posts no more often than BACKPASS_LIMITS says; `network` is
    where from (`web.limits.rates.client_network`).

    Raises:
        Refused: with a message for the person who posted; TooMany if waiting helps.
    """
    hardware = _checked(owner, posted)
    key = _effective_key(posted)
    with transaction.atomic():
        _lock(owner)
        existing = owner.submissions().filter(idempotency_key=key).first() if key else None
        if existing:
            return existing
        _check_fair_use(owner, network)
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
        bind_contextvars(submission=str(submission.pk))
        start_attempt(submission, number=1)
    logger.info("taken: %s in %s for %s", posted.problem, posted.language, hardware)
    return submission


def _check_fair_use(owner: Owner, network: str) -> None:
    """Raises TooMany, which also takes back what was counted: the transaction ends with it."""
    unfinished = owner.submissions().exclude(state=Submission.State.DONE).count()
    if unfinished >= settings.BACKPASS_MAX_UNFINISHED:
        raise TooMany(
            f"{unfinished} of your submissions are still being judged, which is as many as one "
            "person may have on the way. Wait for one of them, then press the button again.",
            wait=UNFINISHED_WAIT,
        )
    limit = count_post(user=owner.user.pk if owner.user else None, network=network)
    if limit:
        raise _too_often(limit)


def _too_often(limit: Exceeded) -> TooMany:
    plural = "s are" if limit.amount > 1 else " is"
    return TooMany(
        f"In {span(limit.seconds)} at most {limit.amount} submission{plural} taken from one "
        f"{_LIMITED[limit.kind]}. Press the button again in {span(limit.wait)}.",
        wait=limit.wait,
    )


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
