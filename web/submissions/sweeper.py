"""Finding what got lost on the way: attempts whose runner fell silent, jobs that no broker has.

It also sends what waits for its turn, in case the call that should have done so was lost.

It may run at any time, twice at once and against a broker that is away.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from web.submissions.dispatch import dispatch, send_all, waiting_jobs
from web.submissions.lifecycle import give_up_attempt, lease_from
from web.submissions.models import Attempt, Submission
from wire.broker import BROKER_ERRORS
from wire.pace import LEASE_SECONDS, PATIENCE_SECONDS

logger = logging.getLogger(__name__)

# How long a job that was sent may stay unheard of before it is looked for; doubles with each sending.
FIRST_PATIENCE = timedelta(seconds=PATIENCE_SECONDS)
LONGEST_PATIENCE = 30 * FIRST_PATIENCE
# So many times a job may vanish (in an hour, with growing patience) before its attempt counts as lost:
# a runner that takes jobs and understands none must not keep a submission queued for good.
MAX_DISPATCHES = 8


def sweep(*, after_pause: bool = False) -> None:
    """Requeue attempts with an expired lease; send again what is lost, and what has its turn.

    `after_pause`: nobody has listened for a while (the broker, the database or the results worker was
    away), so that silence says nothing about a runner. Every lease then begins anew.
    """
    now = timezone.now()
    _expire_leases(now, after_pause)
    _send_lost_jobs(now)
    send_all()


def _expire_leases(now: datetime, after_pause: bool) -> None:
    expired = Attempt.objects.filter(state=Attempt.State.RUNNING, lease_until__lt=now)
    for pk, submission_id in expired.values_list("pk", "submission_id"):
        with transaction.atomic():
            submission = Submission.objects.select_for_update().filter(pk=submission_id).first()
            # Read again under the lock: a beat or a verdict may have come in between.
            attempt = expired.filter(pk=pk).first()
            if not submission or not attempt:
                continue
            attempt.submission = submission
            if after_pause and lease_from(attempt, now) > now:
                attempt.lease_until = lease_from(attempt, now)
                attempt.save(update_fields=["lease_until"])
            else:
                reason = f"its runner was silent for {LEASE_SECONDS:g} seconds"
                give_up_attempt(submission, attempt, reason)


def _send_lost_jobs(now: datetime) -> None:
    sent = Attempt.objects.filter(state=Attempt.State.SENT, dispatched_at__isnull=False)
    by_hardware: dict[str, list[Attempt]] = defaultdict(list)
    for attempt in sent.select_related("submission").order_by("dispatched_at"):
        by_hardware[attempt.submission.hardware].append(attempt)
    for hardware, attempts in by_hardware.items():
        if not any(_is_due(attempt, now) for attempt in attempts):
            continue
        try:
            lost = _lost_among(attempts, hardware, now)
        except BROKER_ERRORS:
            logger.warning("the broker does not answer; jobs for %s wait", hardware)
            continue
        for attempt in lost:
            if not _send_again(attempt):
                break


def _send_again(attempt: Attempt) -> bool:
    """Whether the broker answers."""
    if attempt.dispatches < MAX_DISPATCHES:
        return dispatch(attempt)
    with transaction.atomic():
        submission = Submission.objects.select_for_update().get(pk=attempt.submission_id)
        same = submission.attempts.filter(pk=attempt.pk, state=Attempt.State.SENT).first()
        if same:
            same.submission = submission
            reason = f"its job was sent {MAX_DISPATCHES} times and no runner began it"
            give_up_attempt(submission, same, reason)
    return True


def _is_due(attempt: Attempt, now: datetime) -> bool:
    return attempt.dispatched_at is not None and attempt.dispatched_at < now - patience(attempt)


def patience(attempt: Attempt) -> timedelta:
    """How long after its last sending a job is not looked for."""
    doublings: int = min(max(attempt.dispatches - 1, 0), 10)
    return min(FIRST_PATIENCE * (1 << doublings), LONGEST_PATIENCE)


def _lost_among(sent: list[Attempt], hardware: str, now: datetime) -> list[Attempt]:
    """Those of the jobs sent, oldest first, that are certainly not on their way.

    A runner takes no job before it can begin it, and the queue gives the oldest first. So of the jobs
    that nobody has begun as many as lie in the queue may be there, the youngest; the others are lost. So
    is one when the hardware has long since begun jobs that were sent after it.
    """
    missing = max(len(sent) - waiting_jobs(hardware), 0)
    lately = Attempt.objects.filter(
        submission__hardware=hardware, started_at__gt=now - timedelta(hours=1)
    )
    begun = lately.aggregate(last=Max("dispatched_at"))["last"]
    return [
        attempt
        for number, attempt in enumerate(sent)
        if _is_due(attempt, now)
        and (
            number < missing
            or (begun is not None and attempt.dispatched_at < begun - LONGEST_PATIENCE)
        )
    ]
