"""Reading boards: always the same number of queries, however many stand on one.

A board is about the problem's current version; who solved an older one is to solve it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from django.db.models import Case, F, OrderBy, Q, QuerySet, When

from problems.spec import Problem
from web.accounts.models import User
from web.boards.models import Standing
from web.hardware import HardwareKind
from wire.inspection import MODEL

SCORE, SAVED = Standing.Order.SCORE, Standing.Order.SAVED


def board(problem: Problem, kind: HardwareKind, order: str = SCORE) -> QuerySet[Standing]:
    """Every standing in one of the board's orders, best first. By saved bytes those that save the same
    stand as they do by score."""
    by_bytes = ["saved_bytes"] if order == SAVED else []
    return (
        _current(problem, order)
        .filter(hardware=kind.name)
        .select_related("user")
        .order_by(*by_bytes, *_by_score(kind), "achieved_at", "pk")
    )


def _by_score(kind: HardwareKind) -> list[OrderBy]:
    if kind.measures_time:
        return [F("score").desc()]
    if kind.models_time:
        return [Case(When(model_version=MODEL, then=F("score"))).desc(nulls_last=True)]
    return []


def ranks(standings: Sequence[Standing], before: int, kind: HardwareKind) -> list[int]:
    """The ranks of successive standings of a board that has `before` better or equal ones above them.

    Those that tie share a rank. One query, whatever the size of the board.
    """
    if not standings:
        return []
    counted = [own_rank(standings[0], kind)]
    for place, (above, below) in enumerate(pairwise(standings), start=before + 2):
        counted.append(counted[-1] if _tied(above, below) else place)
    return counted


def _tied(one: Standing, other: Standing) -> bool:
    if one.order == SAVED and one.saved_bytes != other.saved_bytes:
        return False
    score = one.comparable_score
    if score != other.comparable_score:
        return False
    return score is not None or one.achieved_at == other.achieved_at


def own_standings(problem: Problem, user: User) -> list[Standing]:
    """The user's standings by score for the problem, one for each hardware."""
    return own_in_order(problem, user, SCORE)


def own_in_order(problem: Problem, user: User, order: str) -> list[Standing]:
    """The user's standings in one order, one for each hardware."""
    own = _current(problem, order).filter(user=user).select_related("user")
    return list(own.order_by("hardware"))


def own_rank(standing: Standing, kind: HardwareKind) -> int:
    """One more than the number of standings that are better."""
    rivals = Standing.objects.filter(
        problem=standing.problem,
        problem_version=standing.problem_version,
        hardware=standing.hardware,
        order=standing.order,
    )
    return 1 + rivals.filter(_better(standing, kind)).count()


def _better(standing: Standing, kind: HardwareKind) -> Q:
    by_score = _better_score(standing, kind)
    if standing.order != SAVED:
        return by_score
    fewer = Q(saved_bytes__lt=standing.saved_bytes)
    return fewer | (Q(saved_bytes=standing.saved_bytes) & by_score)


def _better_score(standing: Standing, kind: HardwareKind) -> Q:
    if kind.measures_time:
        return Q(score__gt=standing.score)
    scored = Q(model_version=MODEL)
    if standing.comparable_score is not None:
        return scored & Q(score__gt=standing.score)
    return scored | Q(achieved_at__lt=standing.achieved_at)


def _current(problem: Problem, order: str) -> QuerySet[Standing]:
    return Standing.objects.filter(
        problem=problem.slug, problem_version=problem.version, order=order
    )
