"""Reading boards: always the same number of queries, however many stand on one.

A board is about the problem's current version; who solved an older one is to solve it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from django.db.models import F, Q, QuerySet

from problems.spec import Problem
from web.accounts.models import User
from web.boards.models import Standing
from web.hardware import HardwareKind


def board(problem: Problem, kind: HardwareKind) -> QuerySet[Standing]:
    """Every standing, best first."""
    order = [F("score").desc()] if kind.measures_time else [F("achieved_at").asc()]
    return (
        _current(problem)
        .filter(hardware=kind.name)
        .select_related("user")
        .order_by(*order, "achieved_at", "pk")
    )


def ranks(standings: Sequence[Standing], before: int, kind: HardwareKind) -> list[int]:
    """The ranks of successive standings of a board that has `before` better or equal ones above them.

    Those that tie share a rank. One query, whatever the size of the board.
    """
    if not standings:
        return []
    counted = [own_rank(standings[0], kind)]
    for place, (above, below) in enumerate(pairwise(standings), start=before + 2):
        counted.append(counted[-1] if _tied(above, below, kind) else place)
    return counted


def _tied(one: Standing, other: Standing, kind: HardwareKind) -> bool:
    if kind.measures_time:
        return one.score == other.score
    return one.achieved_at == other.achieved_at


def own_standings(problem: Problem, user: User) -> list[Standing]:
    """The user's standings for the problem, one for each hardware."""
    own = _current(problem).filter(user=user).select_related("user")
    return list(own.order_by("hardware"))


def own_rank(standing: Standing, kind: HardwareKind) -> int:
    """One more than the number of standings that are better."""
    better = (
        Q(score__gt=standing.score)
        if kind.measures_time
        else Q(achieved_at__lt=standing.achieved_at)
    )
    rivals = Standing.objects.filter(
        problem=standing.problem,
        problem_version=standing.problem_version,
        hardware=standing.hardware,
    )
    return 1 + rivals.filter(better).count()


def _current(problem: Problem) -> QuerySet[Standing]:
    return Standing.objects.filter(problem=problem.slug, problem_version=problem.version)
