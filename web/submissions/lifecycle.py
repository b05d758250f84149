"""The moves a submission makes between its states. Callers hold the submission's row lock."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from functools import partial

from django.db import transaction
from django.utils import timezone
from structlog.contextvars import bound_contextvars

from web.boards.services import update_standing
from web.observability.judging import attempt_began, attempt_lost, leave_phase, verdict_came
from web.submissions.dispatch import send_next
from web.submissions.models import MAX_ATTEMPTS, Attempt, Rejudge, Submission
from web.submissions.replacement import end_rejudge
from wire.broker import HARD_TIME_LIMIT
from wire.pace import LEASE_SECONDS
from wire.verdict import Report, Verdict

logger = logging.getLogger(__name__)

# Celery has killed a job by then, whatever its runner still says.
LONGEST_RUN = timedelta(seconds=HARD_TIME_LIMIT + 2 * LEASE_SECONDS)


def start_attempt(submission: Submission, number: int, rejudge: Rejudge | None = None) -> Attempt:
    """Make the next attempt, whose job is sent when its turn comes: after the commit at the earliest."""
    attempt = Attempt.objects.create(submission=submission, number=number, rejudge=rejudge)
    transaction.on_commit(partial(send_next, submission.hardware), robust=True)
    return attempt


def mark_running(attempt: Attempt, runner: str, now: datetime) -> None:
    """A runner has begun on the attempt."""
    attempt.state = Attempt.State.RUNNING
    attempt.runner = runner
    attempt.started_at = now
    attempt_began(attempt, now)
    submission = attempt.submission
    if submission.state == Submission.State.QUEUED:
        submission.state = Submission.State.RUNNING
        submission.save(update_fields=["state"])


def lease_from(attempt: Attempt, now: datetime) -> datetime:
    """Until when a running attempt that was just heard of is believed to live."""
    latest = (attempt.started_at or now) + LONGEST_RUN
    return min(now + timedelta(seconds=LEASE_SECONDS), latest)


def finish(submission: Submission, attempt: Attempt, report: Report) -> None:
    """Give the submission its verdict and bring the board up to date."""
    now = timezone.now()
    _close(attempt, Attempt.State.DONE)
    verdict_came(attempt, report)
    transaction.on_commit(partial(send_next, submission.hardware), robust=True)
    if attempt.rejudge is not None:
        end_rejudge(submission, attempt.rejudge, report)
        return
    submission.state = Submission.State.DONE
    submission.verdict = report.verdict
    submission.headline = report.headline
    submission.report = report.to_json()
    submission.score = report.score
    submission.finished_at = now
    submission.save()
    update_standing(submission, report)
    logger.info("verdict: %s", report.verdict)


def give_up_attempt(submission: Submission, attempt: Attempt, reason: str) -> None:
    """The attempt will bring no verdict: try again, or say so when every attempt is spent."""
    with bound_contextvars(submission=str(submission.pk), attempt=str(attempt.pk)):
        logger.warning("attempt %s is given up: %s", attempt.number, reason)
    attempt_lost(attempt)
    if attempt.number >= MAX_ATTEMPTS:
        finish(submission, attempt, _failure(submission, reason))
        return
    _close(attempt, Attempt.State.LOST)
    if attempt.rejudge is None:
        submission.state = Submission.State.QUEUED
        submission.phase = ""
        submission.phase_done = submission.phase_total = 0
        submission.save()
    start_attempt(submission, attempt.number + 1, attempt.rejudge)


def _close(attempt: Attempt, state: Attempt.State) -> None:
    attempt.state = state
    attempt.lease_until = None
    leave_phase(attempt, timezone.now())
    attempt.save()


def _failure(submission: Submission, reason: str) -> Report:
    return Report(
        verdict=Verdict.JUDGE_FAILURE,
        headline=f"The judge failed on this submission {MAX_ATTEMPTS} times: {reason:.200}. "
        "Your source is kept; send it again.",
        problem=submission.problem,
        problem_version=submission.problem_version,
        hardware=submission.hardware,
        language=submission.language,
        mode=submission.mode,
        not_ranked_because="the judge failed",
        failure="lost",
    )
