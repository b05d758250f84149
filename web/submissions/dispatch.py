"""Sending jobs to runners. A job that could not be sent stays in the database for the sweeper."""

from __future__ import annotations

import logging
from typing import Any

from django.db.models import F
from django.utils import timezone
from kombu import Queue
from kombu.exceptions import ChannelError, KombuError

from web.celery import app
from web.submissions.models import Attempt
from wire.messages import JUDGE_TASK, JobMessage, judge_queue

logger = logging.getLogger(__name__)

# What a broker that is away, or full, raises.
BROKER_ERRORS = (KombuError, ChannelError, OSError)


def dispatch(attempt: Attempt) -> bool:
    """Send the attempt's job to the queue of its hardware; whether the broker took it.

    Never raises for a broker that is away: the row says that the job is still to be sent.
    """
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
        logger.exception(
            "the broker did not take attempt %s; the sweeper will try again", attempt.pk
        )
        return False
    Attempt.objects.filter(pk=attempt.pk).update(
        dispatched_at=timezone.now(), dispatches=F("dispatches") + 1
    )
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
