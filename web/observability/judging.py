"""What is counted of judging. The names and labels are those of the metrics (`collector`)."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from web.observability.tally import count, observe
from wire.verdict import Report, Verdict

if TYPE_CHECKING:
    from web.submissions.models import Attempt

PARTS = frozenset({"sandbox", "time limit", "judge", "lost"})
STARTING = "starting"  # from the runner's first word to its first phase


def attempt_began(attempt: Attempt, now: datetime) -> None:
    """A runner took the job. What somebody waited for it counts, once a submission."""
    if attempt.rejudge_id is None and attempt.number == 1:
        submission = attempt.submission
        waited = (now - submission.created_at).total_seconds()
        observe("wait_seconds", {"hardware": submission.hardware}, waited)
    enter_phase(attempt, STARTING, now)


def enter_phase(attempt: Attempt, phase: str, now: datetime) -> None:
    """The runner began something else; sets the attempt's phase, which the caller saves."""
    if attempt.phase == phase:
        return
    leave_phase(attempt, now)
    attempt.phase, attempt.phase_since = phase, now


def leave_phase(attempt: Attempt, now: datetime) -> None:
    """What was under way is over; sets the attempt's phase, which the caller saves."""
    if attempt.phase and attempt.phase_since is not None:
        observe(
            "judge_seconds",
            {"hardware": attempt.submission.hardware, "phase": attempt.phase},
            (now - attempt.phase_since).total_seconds(),
        )
    attempt.phase, attempt.phase_since = "", None


def verdict_came(attempt: Attempt, report: Report) -> None:
    """Judging ended with this report."""
    hardware = attempt.submission.hardware
    count(
        "verdicts",
        {
            "hardware": hardware,
            "mode": report.mode,
            "verdict": report.verdict.value,
            "rejudge": "no" if attempt.rejudge_id is None else "yes",
        },
    )
    if report.verdict is Verdict.JUDGE_FAILURE:
        count("judge_failures", {"hardware": hardware, "part": _part(report)})


def _part(report: Report) -> str:
    """Of a few, whatever a runner says: each word makes a series of its own."""
    return report.failure if report.failure in PARTS else "unknown"


def attempt_lost(attempt: Attempt) -> None:
    """An attempt ended without a verdict."""
    count("attempts_lost", {"hardware": attempt.submission.hardware})
