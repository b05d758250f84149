"""Reading submissions for their pages."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from django.db.models import Q

from web.runners.queries import absent
from web.submissions.models import Attempt, Submission
from web.submissions.reports import BadReport, parse_report
from web.submissions.waiting import ON_THE_WAY, WAITING, attempts_for, line_for, window
from wire.verdict import Report

logger = logging.getLogger(__name__)

# A place in line is worked out so far and no further.
LAST_PLACE = 200


@dataclass(frozen=True)
class Progress:
    """Where an unfinished submission stands.

    `place` counts from 1 and is 0 once it is being judged; LAST_PLACE stands for itself and all beyond.
    `absent` says that no runner for its hardware is up.
    """

    state: str
    place: int
    phase: str
    done: int
    total: int
    absent: bool = False

    @property
    def is_last_place(self) -> bool:
        return self.place == LAST_PLACE

    @property
    def fingerprint(self) -> str:
        """Changes exactly when something that is shown does."""
        shown = (self.state, self.place, self.phase, self.done, self.total, int(self.absent))
        return "-".join(map(str, shown))


def progress_of(submission: Submission) -> Progress:
    queued = submission.state == Submission.State.QUEUED
    return Progress(
        submission.state,
        queue_place(submission) if queued else 0,
        submission.phase,
        submission.phase_done,
        submission.phase_total,
        absent=queued and bool(absent([submission.hardware])),
    )


def queue_place(submission: Submission) -> int:
    """One more than the number of jobs on the same hardware that are judged before the submission's.

    As the fair line stands now (`line`): somebody who comes later and has fewer jobs may still go first.
    """
    attempts = attempts_for(submission.hardware)
    own = attempts.filter(submission=submission, state=Attempt.State.SENT).first()
    if own is None:  # it is beginning this very moment, or between two attempts
        return 1
    if own.dispatched_at is not None:
        sent_before = Q(dispatched_at__lt=own.dispatched_at) | Q(
            dispatched_at=own.dispatched_at, pk__lt=own.pk
        )
        return 1 + attempts.filter(ON_THE_WAY, sent_before).count()
    older = Q(submission__created_at__lt=submission.created_at) | Q(
        submission__created_at=submission.created_at, pk__lt=own.pk
    )
    nth = 1 + attempts.filter(WAITING, older, person=own.person).count()
    line, room = line_for(submission.hardware), window(submission.hardware)
    return 1 + line.jobs_before(own.person, nth, room, at_most=LAST_PLACE - 1)


def report_of(submission: Submission) -> Report | None:
    """The stored report; None while there is none, or if it is of a form no longer understood."""
    if submission.report is None:
        return None
    try:
        return parse_report(submission.report)
    except BadReport:
        logger.exception("the report of submission %s is of another form", submission.pk)
        return None
