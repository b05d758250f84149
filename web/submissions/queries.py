"""Reading submissions for their pages."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from web.submissions.models import Submission
from web.submissions.reports import BadReport, parse_report
from wire.verdict import Report

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Progress:
    """Where an unfinished submission stands. `place` counts from 1 and is 0 once it is being judged."""

    state: str
    place: int
    phase: str
    done: int
    total: int

    @property
    def fingerprint(self) -> str:
        """Changes exactly when something that is shown does."""
        return f"{self.state}-{self.place}-{self.phase}-{self.done}-{self.total}"


def progress_of(submission: Submission) -> Progress:
    place = queue_place(submission) if submission.state == Submission.State.QUEUED else 0
    return Progress(
        submission.state,
        place,
        submission.phase,
        submission.phase_done,
        submission.phase_total,
    )


def queue_place(submission: Submission) -> int:
    """One more than the number of unfinished submissions for the same hardware that came earlier."""
    earlier = Submission.objects.filter(
        hardware=submission.hardware, created_at__lt=submission.created_at
    ).exclude(state=Submission.State.DONE)
    return 1 + earlier.count()


def report_of(submission: Submission) -> Report | None:
    """The stored report; None while there is none, or if it is of a form no longer understood."""
    if submission.report is None:
        return None
    try:
        return parse_report(submission.report)
    except BadReport:
        logger.exception("the report of submission %s is of another form", submission.pk)
        return None
