"""Finding what got lost on the way: attempts whose runner fell silent, jobs that no broker has.

It may run at any time, twice at once and against a broker that is away.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from web.submissions.dispatch import BROKER_ERRORS, dispatch, waiting_jobs
from web.submissions.lifecycle import give_up_attempt
from web.submissions.models import Attempt, Submission
from wire.messages import LEASE_SECONDS

logger = logging.getLogger(__name__)

# How long a job that was sent may stay unheard of before it is looked for; doubles with each sending.
FIRST_PATIENCE = timedelta(seconds=20)
LONGEST_PATIENCE = timedelta(minutes=10)
# A job just created is being sent by the request that made it.
GRACE = timedelta(seconds=5)


def sweep() -> None:
    """Requeue attempts with an expired lease, send again the jobs that are lost."""
    now = timezone.now()
    _expire_leases(now)
    _send_lost_jobs(now)


def _expire_leases(now: datetime) -> None:
    expired = Attempt.objects.filter(state=Attempt.State.RUNNING, lease_until__lt=now)
    for pk, submission_id in expired.values_list("pk", "submission_id"):
        with transaction.atomic():
            submission = Submission.objects.select_for_update().filter(pk=submission_id).first()
            # Read again under the lock: a beat or a verdict may have come in between.
            attempt = expired.filter(pk=pk).first()
            if submission and attempt:
                attempt.submission = submission
                give_up_attempt(
                    submission, attempt, f"its runner was silent for {LEASE_SECONDS} seconds"
                )


def _send_lost_jobs(now: datetime) -> None:
    sent = Attempt.objects.filter(state=Attempt.State.SENT, created_at__lt=now - GRACE)
    by_hardware: dict[str, list[Attempt]] = defaultdict(list)
    for attempt in sent.select_related("submission").order_by("created_at"):
        by_hardware[attempt.submission.hardware].append(attempt)
    for hardware, attempts in by_hardware.items():
        due = [
            a for a in attempts if a.dispatched_at is None or a.dispatched_at < now - patience(a)
        ]
        if not due:
            continue
        try:
            lost = _lost_among(due, hardware, now)
        except BROKER_ERRORS:
            logger.warning("the broker does not answer; jobs for %s wait", hardware)
            continue
        for attempt in lost:
            if not dispatch(attempt):
                break


def patience(attempt: Attempt) -> timedelta:
    """How long after its last sending a job is not looked for."""
    doublings: int = min(max(attempt.dispatches - 1, 0), 10)
    return min(FIRST_PATIENCE * (1 << doublings), LONGEST_PATIENCE)


def _lost_among(due: list[Attempt], hardware: str, now: datetime) -> list[Attempt]:
    """Those whose job is certainly not on its way: sending a second one would judge twice for nothing.

    A job is lost if it never left; if its hardware does nothing although the queue is empty; or if
    the hardware has long since begun jobs that were sent after it.
    """
    attempts = Attempt.objects.filter(submission__hardware=hardware)
    idle = waiting_jobs(hardware) == 0 and not attempts.filter(state=Attempt.State.RUNNING).exists()
    lately = attempts.filter(started_at__gt=now - timedelta(hours=1))
    begun = lately.aggregate(last=Max("dispatched_at"))["last"]
    overtaken_before = begun - LONGEST_PATIENCE if begun else None
    return [
        a
        for a in due
        if a.dispatched_at is None
        or idle
        or (overtaken_before is not None and a.dispatched_at < overtaken_before)
    ]
