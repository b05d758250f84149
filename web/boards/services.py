"""Keeping standings up to date. Called in the transaction that stores the verdict."""

from __future__ import annotations

import logging
from typing import Any

from django.db.models import F

from web.accounts.models import User
from web.boards.models import Standing
from web.hardware import get_kind
from web.submissions.models import Submission
from web.submissions.reports import BadReport, parse_report
from wire.verdict import Report, Verdict

logger = logging.getLogger(__name__)


def update_standing(submission: Submission, report: Report) -> bool:
    """Put the submission on its board if it belongs there; whether it now stands there.

    It belongs there when a user submitted it, it was accepted and the judge says it may be ranked. It
    replaces the user's row when it solves a newer version of the problem or, on hardware that
    measures time, has the higher score. Of two with the same score, and where nothing is measured, the
    one posted earlier stays, whichever of them was judged first.
    """
    if not _belongs(submission, report):
        return False
    assert submission.user_id is not None
    _lock(submission.user_id)
    values = _values(submission, report)
    key = {
        "problem": submission.problem,
        "hardware": submission.hardware,
        "user_id": submission.user_id,
    }
    standing = Standing.objects.filter(**key).first()
    if standing is None:
        Standing.objects.create(**key, **values)
        return True
    if not _is_better(submission, report, standing):
        return False
    _overwrite(standing, values)
    return True


def restore_standing(user_id: int, problem: str, hardware: str) -> Standing | None:
    """Find anew what of the user's stands on the board, after a verdict was replaced or taken back.

    Ends where `update_standing` would have ended with the verdicts that hold now: with the best of them,
    or with no standing if none belongs there.
    """
    _lock(user_id)
    key = {"problem": problem, "hardware": hardware, "user_id": user_id}
    standing = Standing.objects.filter(**key).first()
    best = _best(user_id, problem, hardware)
    if best is None:
        if standing is not None:
            standing.delete()
        return None
    values = _values(*best)
    if standing is None:
        return Standing.objects.create(**key, **values)
    _overwrite(standing, values)
    return standing


def _lock(user_id: int) -> None:
    """One verdict of a user at a time decides where they stand."""
    User.objects.select_for_update(no_key=True).only("pk").get(pk=user_id)


def _best(user_id: int, problem: str, hardware: str) -> tuple[Submission, Report] | None:
    """What stands highest by the rule of `_is_better`."""
    by_score = [F("score").desc(nulls_last=True)] if get_kind(hardware).measures_time else []
    accepted = Submission.objects.filter(
        user_id=user_id,
        problem=problem,
        hardware=hardware,
        mode=Submission.Mode.SUBMIT,
        verdict=Verdict.ACCEPTED,
        report__ranked=True,
    )
    ordered = accepted.order_by("-problem_version", *by_score, "created_at", "pk")
    for submission in ordered.defer("source").iterator(chunk_size=20):
        try:
            report = parse_report(submission.report)
        except BadReport:
            logger.warning("submission %s has a report of another form", submission.pk)
            continue
        if _belongs(submission, report):
            return submission, report
    return None


def _overwrite(standing: Standing, values: dict[str, Any]) -> None:
    for name, value in values.items():
        setattr(standing, name, value)
    standing.save()


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
