"""What the end of a rejudge does to its submission. Callers hold the submission's row lock."""

from __future__ import annotations

import logging

from django.utils import timezone

from web.boards.services import restore_standing
from web.submissions.models import EarlierVerdict, Rejudge, Submission
from wire.verdict import Report, Verdict

logger = logging.getLogger(__name__)


def end_rejudge(submission: Submission, rejudge: Rejudge, report: Report) -> None:
    """Put the new verdict in the place of the old one, which is kept, and mend the board.

    A failure of the judge says nothing about the submission: then the old verdict stands.
    """
    now = timezone.now()
    rejudge.ended_at = now
    if report.verdict is Verdict.JUDGE_FAILURE:
        rejudge.state = Rejudge.State.FAILED
        rejudge.why_failed = report.headline
        rejudge.save()
        logger.warning("rejudge failed, the old verdict stands: %s", report.headline)
        return
    rejudge.state = Rejudge.State.DONE
    rejudge.save()
    was = _keep_old_verdict(submission)
    submission.problem_version = report.problem_version
    submission.verdict = report.verdict
    submission.headline = report.headline
    submission.report = report.to_json()
    submission.score = report.score
    submission.rejudged_at = now
    submission.save()
    if submission.user_id is not None and submission.mode == Submission.Mode.SUBMIT:
        restore_standing(submission.user_id, submission.problem, submission.hardware)
    logger.info("rejudged: %s, was %s", report.verdict, was)


def _keep_old_verdict(submission: Submission) -> str:
    judged_at = submission.rejudged_at or submission.finished_at
    assert judged_at is not None, "only finished submissions are judged once more"
    EarlierVerdict.objects.create(
        submission=submission,
        problem_version=submission.problem_version,
        verdict=submission.verdict,
        headline=submission.headline,
        report=submission.report,
        score=submission.score,
        judged_at=judged_at,
    )
    return submission.verdict
