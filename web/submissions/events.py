"""What runners say, entered into the database. Events may come twice, late, out of order or never."""

from __future__ import annotations

import logging
import uuid
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from web.submissions.lifecycle import finish, give_up_attempt, lease_from, mark_running
from web.submissions.models import Attempt, Submission
from web.submissions.reports import BadReport, read_report
from wire.messages import BadMessage, Event, EventKind, Phase

logger = logging.getLogger(__name__)

_MAX_SEQ = 2**63 - 1
_MAX_COUNT = 100_000


def record_event(raw: Any) -> bool:
    """Enter one event; whether it changed anything.

    Dropped: what is no event, and events of an attempt that is not its submission's active one or that
    are older than what is known. A verdict counts whatever its number, for nothing comes after it.
    """
    try:
        event = Event.from_json(raw)
        attempt_id = uuid.UUID(event.attempt)
    except (BadMessage, ValueError) as error:
        logger.warning("dropped a message that is no event: %s", error)
        return False
    with transaction.atomic():
        attempt = _active_attempt(attempt_id)
        if attempt is None or not 0 <= event.seq <= _MAX_SEQ:
            logger.info("dropped %s of attempt %s: not active", event.kind, attempt_id)
            return False
        if event.kind is EventKind.VERDICT:
            _enter_verdict(attempt, event.data)
            return True
        if event.seq <= attempt.last_seq:
            return False
        _enter_sign_of_life(attempt, event, timezone.now())
        return True


def _active_attempt(attempt_id: uuid.UUID) -> Attempt | None:
    """The attempt with its submission, whose row is locked, if it is the active one."""
    submission = (
        Submission.objects.select_for_update(of=("self",)).filter(attempts=attempt_id).first()
    )
    if submission is None:
        return None
    attempt = submission.attempts.filter(pk=attempt_id, state__in=Attempt.ACTIVE).first()
    if attempt is not None:
        attempt.submission = submission
    return attempt


def _enter_sign_of_life(attempt: Attempt, event: Event, now: datetime) -> None:
    if attempt.state == Attempt.State.SENT:
        mark_running(attempt, _runner_name(event), now)
    elif event.kind is EventKind.STARTED:
        attempt.runner = _runner_name(event)
    attempt.last_seq = event.seq
    attempt.lease_until = lease_from(attempt, now)
    attempt.save()
    if event.kind is EventKind.PROGRESS:
        _enter_progress(attempt.submission, event.data)


def _runner_name(event: Event) -> str:
    name = event.data.get("runner", "")
    return name.replace("\0", "")[:200] if isinstance(name, str) else ""


def _enter_progress(submission: Submission, data: dict[str, Any]) -> None:
    phase, done, total = data.get("phase"), data.get("done"), data.get("total")
    if phase not in list(Phase) or type(done) is not int or type(total) is not int:
        logger.warning("dropped a progress that makes no sense: %.200r", data)
        return
    if not 0 <= done <= total <= _MAX_COUNT:
        logger.warning("dropped a progress that counts wrongly: %.200r", data)
        return
    if submission.is_done:  # a rejudge: what is shown stays the verdict that stands
        return
    submission.phase = str(phase)
    submission.phase_done, submission.phase_total = done, total
    submission.save(update_fields=["phase", "phase_done", "phase_total"])


def _enter_verdict(attempt: Attempt, data: dict[str, Any]) -> None:
    submission = attempt.submission
    try:
        report = read_report(data, submission, may_be_newer=attempt.rejudge_id is not None)
    except BadReport as error:
        give_up_attempt(submission, attempt, f"its report could not be read ({error})")
        return
    finish(submission, attempt, report)
