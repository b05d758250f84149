"""What runners say, entered into the database. Events may come twice, late, out of order or never."""

from __future__ import annotations

import logging
import uuid
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.db import transaction
from django.utils import timezone
from structlog.contextvars import bound_contextvars

from web.observability.judging import enter_phase
from web.submissions.dispatch import send_next
from web.submissions.lifecycle import finish, give_up_attempt, lease_from, mark_running
from web.submissions.models import Attempt, Submission
from web.submissions.reports import BadReport, read_report
from wire.messages import BadMessage, Event, EventKind, Phase
from wire.pace import PATIENCE_SECONDS

logger = logging.getLogger(__name__)

_MAX_SEQ = 2**63 - 1
_MAX_COUNT = 100_000
# A job that was sent just now did not come back just now: the news is of an earlier sending.
_RETURN_PAUSE = timedelta(seconds=PATIENCE_SECONDS) / 4


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
        with bound_contextvars(submission=str(attempt.submission_id), attempt=str(attempt_id)):
            return _enter(attempt, event)


def _enter(attempt: Attempt, event: Event) -> bool:
    if event.kind is EventKind.VERDICT:
        _enter_verdict(attempt, event.data)
        return True
    if event.kind is EventKind.RETURNED:
        return _enter_return(attempt, timezone.now())
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
        logger.info("a runner began: %s", attempt.runner)
    elif event.kind is EventKind.STARTED:
        attempt.runner = _runner_name(event)
    attempt.last_seq = event.seq
    attempt.lease_until = lease_from(attempt, now)
    if event.kind is EventKind.PROGRESS:
        _enter_progress(attempt, event.data, now)
    attempt.save()


def _runner_name(event: Event) -> str:
    name = event.data.get("runner", "")
    return name.replace("\0", "")[:200] if isinstance(name, str) else ""


def _enter_return(attempt: Attempt, now: datetime) -> bool:
    """A job came to a runner for a second time: whoever had it first is gone, or still at work on it.

    If nobody has begun it, it takes its place in line again; else the lease decides.
    """
    sent = attempt.dispatched_at
    if attempt.state != Attempt.State.SENT or sent is None or sent > now - _RETURN_PAUSE:
        return False
    attempt.dispatched_at = None
    attempt.save(update_fields=["dispatched_at"])
    transaction.on_commit(partial(send_next, attempt.submission.hardware), robust=True)
    return True


def _enter_progress(attempt: Attempt, data: dict[str, Any], now: datetime) -> None:
    phase, done, total = data.get("phase"), data.get("done"), data.get("total")
    if phase not in list(Phase) or type(done) is not int or type(total) is not int:
        logger.warning("dropped a progress that makes no sense: %.200r", data)
        return
    if not 0 <= done <= total <= _MAX_COUNT:
        logger.warning("dropped a progress that counts wrongly: %.200r", data)
        return
    enter_phase(attempt, str(phase), now)
    submission = attempt.submission
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
