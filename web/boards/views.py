"""The leaderboard of a problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from problems.spec import Problem
from web.boards.models import Standing
from web.boards.queries import board, own_rank, own_standings
from web.catalogue.routing import problem_view
from web.hardware import HardwareKind, all_hardware

PAGE_SIZE = 50


@dataclass(frozen=True)
class Row:
    """A standing on the board. `cells` has the timing of each benchmark column, or None."""

    rank: int
    standing: Standing
    is_own: bool
    cells: tuple[dict[str, Any] | None, ...]


@require_safe
@problem_view
def leaderboard(request: HttpRequest, problem: Problem) -> HttpResponse:
    """Who stands where. `?hardware=` picks the board, `?page=` the page.

    Context: `problem`; `kind` (HardwareKind shown) and `kinds` (all); `benchmarks` (the columns);
    `rows` (Row, ...); `page` (a paginator's page); `own` (the user's Row, or None) and
    `own_on_page` (whether `rows` has it).
    """
    kind = _chosen_kind(request.GET.get("hardware", ""))
    benchmarks = problem.benchmarks.get(kind.name, ()) if kind.measures_time else ()
    names = [benchmark.name for benchmark in benchmarks]
    page = Paginator(board(problem, kind), PAGE_SIZE).get_page(request.GET.get("page"))
    own = _own_row(request, problem, kind, names)
    rows = [
        _row(standing, standing.rank, names, is_own=standing.user_id == request.user.pk)  # type: ignore[attr-defined]
        for standing in page
    ]
    context = {
        "problem": problem,
        "kind": kind,
        "kinds": all_hardware(),
        "benchmarks": benchmarks,
        "rows": rows,
        "page": page,
        "own": own,
        "own_on_page": any(row.is_own for row in rows),
    }
    return render(request, "boards/leaderboard.html", context)


def _chosen_kind(name: str) -> HardwareKind:
    kinds = all_hardware()
    if not name:
        return kinds[0]
    for kind in kinds:
        if kind.name == name:
            return kind
    raise Http404("This site has no such hardware.")


def _own_row(
    request: HttpRequest, problem: Problem, kind: HardwareKind, names: list[str]
) -> Row | None:
    if not request.user.is_authenticated:
        return None
    for standing in own_standings(problem, request.user):
        if standing.hardware == kind.name:
            return _row(standing, own_rank(standing, kind), names, is_own=True)
    return None


def _row(standing: Standing, rank: int, names: list[str], *, is_own: bool) -> Row:
    timings = {timing["name"]: timing for timing in standing.timings}
    return Row(rank, standing, is_own, tuple(timings.get(name) for name in names))
