"""Sending jobs to runners: a window of them for each hardware, chosen fairly (`line` has the rules).

A job is on its way once the broker took it (`dispatched_at`) and until its attempt ends; any other
active attempt waits in the database. `send_next` fills the window. It is called after the commit of
whatever may have made room or work (a new attempt, a verdict) and by every sweep, so that no lost call
matters. A job that the broker lost keeps its place in the window until the sweeper sends it again.
"""

from __future__ import annotations

import logging
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone
from kombu import Queue
from structlog.contextvars import bound_contextvars

from web.celery import app
from web.runners.models import Turnstile
from web.submissions.models import Attempt
from web.submissions.waiting import WAITING, attempts_for, line_for, window
from wire.broker import BROKER_ERRORS
from wire.messages import JUDGE_TASK, JobMessage, judge_queue

logger = logging.getLogger(__name__)


def send_next(hardware: str) -> int:
    """Send the jobs whose turn it is, as many as the window has room for; how many the broker took.

    Never raises for a broker that is away: what it did not take waits on.
    """
    claimed = _claim(hardware)
    for number, attempt in enumerate(claimed):
        if not _send(attempt):
            _unclaim(claimed[number:])
            return number
    return len(claimed)


def send_all() -> None:
    """Fill the window of every hardware for which a job waits."""
    waiting = Attempt.objects.filter(WAITING).order_by()
    for hardware in list(waiting.values_list("submission__hardware", flat=True).distinct()):
        send_next(hardware)


def _claim(hardware: str) -> list[Attempt]:
    """Take those whose turn it is out of the line before they are sent: nobody else will send them."""
    with transaction.atomic():
        _pass_turnstile(hardware)
        line = line_for(hardware)
        room = window(hardware) - len(line)
        claimed: list[Attempt] = []
        while len(claimed) < room and (person := line.send()):
            attempt = _oldest(hardware, person)
            # One after the other, so that the times tell the order.
            _note_sent(attempt)
            claimed.append(attempt)
    return claimed


def _oldest(hardware: str, person: str) -> Attempt:
    waiting = attempts_for(hardware).filter(WAITING, person=person).select_related("submission")
    return waiting.order_by("submission__created_at", "pk")[0]


def _note_sent(attempt: Attempt) -> None:
    Attempt.objects.filter(pk=attempt.pk).update(
        dispatched_at=timezone.now(), dispatches=F("dispatches") + 1
    )


def _pass_turnstile(hardware: str) -> None:
    """Let one process at a time choose; until its transaction ends. SQLite has one writer anyway."""
    Turnstile.objects.get_or_create(hardware=hardware)
    Turnstile.objects.select_for_update().get(hardware=hardware)


def _unclaim(attempts: list[Attempt]) -> None:
    Attempt.objects.filter(
        pk__in=[attempt.pk for attempt in attempts], state=Attempt.State.SENT
    ).update(dispatched_at=None, dispatches=F("dispatches") - 1)


def dispatch(attempt: Attempt) -> bool:
    """Send again a job that was on its way; whether the broker took it. Never raises for the broker."""
    if not _send(attempt):
        return False
    _note_sent(attempt)
    return True


def _send(attempt: Attempt) -> bool:
    """Whether the broker took the job. The job carries the ids on to the runner's log."""
    with bound_contextvars(submission=str(attempt.submission_id), attempt=str(attempt.pk)):
        return _send_job(attempt)


def _send_job(attempt: Attempt) -> bool:
    submission = attempt.submission
    job = JobMessage(
        attempt=str(attempt.pk),
        problem=submission.problem,
        language=submission.language,
        hardware=submission.hardware,
        mode="submit" if submission.mode == submission.Mode.SUBMIT else "run",
        source=submission.source,
    )
    try:
        app.send_task(
            JUDGE_TASK, args=[job.to_json()], queue=judge_queue(submission.hardware), retry=False
        )
    except BROKER_ERRORS:
        logger.exception("the broker did not take the job; the sweeper will try again")
        return False
    logger.info("sent to %s", judge_queue(submission.hardware))
    return True


def waiting_jobs(hardware: str) -> int:
    """How many jobs lie in the queue of that hardware, not yet taken by a runner.

    Raises:
        BROKER_ERRORS: the broker does not answer.
    """
    with app.connection_for_read() as connection:
        connection.ensure_connection(max_retries=1)
        queue = Queue(judge_queue(hardware), channel=connection.default_channel)
        # The stubs believe that declaring gives the name; every transport gives its counts.
        declared: Any = queue.queue_declare()
        return int(declared.message_count)
