"""Keeping standings up to date. Called in the transaction that stores the verdict, or the inspection."""

from __future__ import annotations

import logging
from typing import Any

from django.db.models import Case, F, When
from django.db.models.fields.json import KeyTransform

from web.accounts.models import User
from web.boards.models import Standing
from web.hardware import get_kind
from web.inspection.models import StoredInspection
from web.submissions.models import Submission
from web.submissions.reports import BadReport, parse_report
from wire.inspection import MODEL
from wire.verdict import Report, Verdict

logger = logging.getLogger(__name__)


def update_standing(submission: Submission, report: Report) -> bool:
    """Put the submission on its board if it belongs there; whether it now stands there.

    It belongs there when a user submitted it, it was accepted and the judge says it may be ranked. It
    replaces the user's row when it solves a newer version of the problem or has the higher score,
    measured or modelled. Of two with the same score, or without one, the one posted earlier stays,
    whichever of them was judged first. A pair of forward and backward also stands by what it saves: the
    fewest bytes, then by the same rule.
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
    stands = [_enter({**key, "order": order}, values) for order in _orders(report)]
    return any(stands)


def _orders(report: Report) -> list[str]:
    """The orders in which a submission may stand."""
    orders = Standing.Order
    return [orders.SCORE] if report.saved_bytes is None else [orders.SCORE, orders.SAVED]


def _enter(key: dict[str, Any], values: dict[str, Any]) -> bool:
    standing = Standing.objects.filter(**key).first()
    if standing is None:
        Standing.objects.create(**key, **values)
        return True
    if not _is_better(values, standing):
        return False
    _overwrite(standing, values)
    return True


def inspection_came(submission: Submission) -> None:
    """A look inside may have brought a modelled time. In the transaction that stores it."""
    is_on_board = submission.is_done and submission.mode == Submission.Mode.SUBMIT
    if is_on_board and submission.user_id and get_kind(submission.hardware).models_time:
        restore_standing(submission.user_id, submission.problem, submission.hardware)


def restore_standing(user_id: int, problem: str, hardware: str) -> Standing | None:
    """Find anew what of the user's stands on the board, after a verdict was replaced or taken back.

    Ends where `update_standing` would have ended with the verdicts that hold now: with the best of them,
    or with no standing if none belongs there. Returns the one by score.
    """
    _lock(user_id)
    key = {"problem": problem, "hardware": hardware, "user_id": user_id}
    _restore(key, Standing.Order.SAVED)
    return _restore(key, Standing.Order.SCORE)


def _restore(user: dict[str, Any], order: str) -> Standing | None:
    key = {**user, "order": order}
    standing = Standing.objects.filter(**key).first()
    best = _best(**user, order=order)
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


def _best(
    user_id: int, problem: str, hardware: str, order: str
) -> tuple[Submission, Report] | None:
    """What stands highest by the rule of `_is_better`."""
    kind = get_kind(hardware)
    score = _modelled_score() if kind.models_time else F("score")
    accepted = Submission.objects.filter(
        user_id=user_id,
        problem=problem,
        hardware=hardware,
        mode=Submission.Mode.SUBMIT,
        verdict=Verdict.ACCEPTED,
        report__ranked=True,
    )
    by_bytes = []
    if order == Standing.Order.SAVED:
        accepted = accepted.filter(report__saved_bytes__isnull=False)
        by_bytes = [KeyTransform("saved_bytes", "report").asc()]
    ordered = accepted.order_by(
        "-problem_version", *by_bytes, score.desc(nulls_last=True), "created_at", "pk"
    )
    for submission in ordered.defer("source").iterator(chunk_size=20):
        try:
            report = parse_report(submission.report)
        except BadReport:
            logger.warning("submission %s has a report of another form", submission.pk)
            continue
        if _belongs(submission, report) and order in _orders(report):
            return submission, report
    return None


def _modelled_score() -> Case:
    return Case(
        When(
            inspection__model_version=MODEL,
            inspection__problem_version=F("problem_version"),
            then=F("inspection__score"),
        )
    )


def _overwrite(standing: Standing, values: dict[str, Any]) -> None:
    if all(getattr(standing, name) == value for name, value in values.items()):
        return  # nothing on the board changed, and nobody has to draw it again
    for name, value in values.items():
        setattr(standing, name, value)
    standing.save()


def _belongs(submission: Submission, report: Report) -> bool:
    if submission.mode != Submission.Mode.SUBMIT or submission.user_id is None:
        return False
    if report.verdict is not Verdict.ACCEPTED or not report.ranked:
        return False
    return report.score is not None or not get_kind(submission.hardware).measures_time


def _is_better(values: dict[str, Any], standing: Standing) -> bool:
    if values["problem_version"] != standing.problem_version:
        return bool(values["problem_version"] > standing.problem_version)
    if standing.order == Standing.Order.SAVED and values["saved_bytes"] != standing.saved_bytes:
        return standing.saved_bytes is None or bool(values["saved_bytes"] < standing.saved_bytes)
    score, other = values["score"], standing.comparable_score
    if score != other:
        return other is None or (score is not None and score > other)
    return bool(values["achieved_at"] < standing.achieved_at)


def _values(submission: Submission, report: Report) -> dict[str, Any]:
    common = {
        "submission": submission,
        "problem_version": submission.problem_version,
        "language": submission.language,
        "achieved_at": submission.created_at,
        "saved_bytes": report.saved_bytes,
        "saved_baseline": sum(s.baseline for s in report.savings) if report.savings else None,
    }
    if get_kind(submission.hardware).models_time:
        return common | _modelled(submission)
    return common | {
        "score": report.score,
        "speedup": report.speedup,
        "model_version": None,
        "timings": [
            {
                "name": timing.name,
                "median": timing.median,
                "speedup": timing.speedup,
                "efficiency": timing.efficiency,
            }
            for timing in report.timings
        ],
    }


def _modelled(submission: Submission) -> dict[str, Any]:
    """What the look inside brought, if it is of this version of the problem and the model of today."""
    found = (
        StoredInspection.objects.filter(
            submission=submission,
            model_version=MODEL,
            problem_version=submission.problem_version,
        )
        .only("score", "timings", "model_version")
        .first()
    )
    if found is None:
        return {"score": None, "speedup": None, "model_version": None, "timings": []}
    return {
        "score": found.score,
        "speedup": None,
        "model_version": found.model_version,
        "timings": found.timings,
    }
