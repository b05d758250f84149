"""Reading boards: always the same number of queries, however many stand on one.

A board is about the problem's current version; who solved an older one is to solve it again.
"""

from __future__ import annotations

from django.db.models import F, Q, QuerySet, Window
from django.db.models.functions import Rank

from problems.spec import Problem
from web.accounts.models import User
from web.boards.models import Standing
from web.hardware import HardwareKind


def board(problem: Problem, kind: HardwareKind) -> QuerySet[Standing]:
    """Every standing with its `rank`, best first; those that tie share a rank.

    The rank is counted over the whole queryset: narrow it and the ranks change. Use `own_rank` for
    one user's.
    """
    order = [F("score").desc()] if kind.measures_time else [F("achieved_at").asc()]
    return (
        _current(problem)
        .filter(hardware=kind.name)
        .select_related("user")
        .annotate(rank=Window(Rank(), order_by=order))
        .order_by(*order, "achieved_at", "pk")
    )


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
