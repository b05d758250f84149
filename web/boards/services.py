"""Keeping standings up to date. Called in the transaction that stores the verdict."""

from __future__ import annotations

from typing import Any

from django.db import IntegrityError, transaction

from web.boards.models import Standing
from web.hardware import get_kind
from web.submissions.models import Submission
from wire.verdict import Report, Verdict


def update_standing(submission: Submission, report: Report) -> bool:
    """Put the submission on its board if it belongs there; whether it now stands there.

    It belongs there when a user submitted it, it was accepted and the judge says it may be ranked. It
    replaces the user's row when it solves a newer version of the problem or, on hardware that
    measures time, has the higher score. Of two with the same score, and where nothing is measured, the
    one posted earlier stays, whichever of them was judged first.
    """
    if not _belongs(submission, report):
        return False
    values = _values(submission, report)
    key = {
        "problem": submission.problem,
        "hardware": submission.hardware,
        "user_id": submission.user_id,
    }
    standing = Standing.objects.select_for_update().filter(**key).first()
    if standing is None:
        try:
            with transaction.atomic():
                Standing.objects.create(**key, **values)
        except IntegrityError:  # another submission of the user came first, just now
            standing = Standing.objects.select_for_update().get(**key)
        else:
            return True
    if not _is_better(submission, report, standing):
        return False
    for name, value in values.items():
        setattr(standing, name, value)
    standing.save()
    return True


def _belongs(submission: Submission, report: Report) -> bool:
    if submission.mode != Submission.Mode.SUBMIT or submission.user_id is None:
        return False
    if report.verdict is not Verdict.ACCEPTED or not report.ranked:
        return False
    return report.score is not None or not get_kind(submission.hardware).measures_time


def _is_better(submission: Submission, report: Report, standing: Standing) -> bool:
    if submission.problem_version != standing.problem_version:
        return submission.problem_version > standing.problem_version
    is_earlier = submission.created_at < standing.achieved_at
    if not get_kind(submission.hardware).measures_time:
        return is_earlier
    if report.score is None or standing.score is None:
        return report.score is not None
    return report.score > standing.score or (report.score == standing.score and is_earlier)


def _values(submission: Submission, report: Report) -> dict[str, Any]:
    return {
        "submission": submission,
        "problem_version": submission.problem_version,
        "language": submission.language,
        "score": report.score,
        "speedup": report.speedup,
        "timings": [
            {
                "name": timing.name,
                "median": timing.median,
                "speedup": timing.speedup,
                "efficiency": timing.efficiency,
            }
            for timing in report.timings
        ],
        "achieved_at": submission.created_at,
    }
