"""Pages of boards as HTML, drawn once for each state of a board and kept in this process.

The key has the board's version (`freshness`), which the caller read from the database for this very
request: once a verdict is committed nothing that was drawn before it is shown again, to anybody.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from problems.registry import get_problem
from web.boards.models import Standing
from web.boards.queries import SCORE, board, ranks
from web.boards.shelf import Shelf
from web.hardware import get_kind

PAGE_SIZE = 50


@dataclass(frozen=True)
class BoardKey:
    """A board in one of its states. `version` is None for a state that has no name and is not kept."""

    problem: str
    problem_version: int
    hardware: str
    version: int | None
    order: str = SCORE


@dataclass(frozen=True)
class Row:
    """A standing on the board. `cells` has the timing of each benchmark column, or None."""

    rank: int
    standing: Standing
    cells: tuple[dict[str, Any] | None, ...]
    html: SafeString


_sizes: Shelf[BoardKey, int] = Shelf(256)
_pages: Shelf[tuple[BoardKey, int], tuple[Row, ...]] = Shelf(256)


def size(key: BoardKey) -> int:
    """How many stand on the board."""
    return _size(key) if key.version is None else _sizes.get(key, lambda: _size(key))


def rows(key: BoardKey, page: int) -> tuple[Row, ...]:
    """The rows of a page, which counts from 1."""
    if key.version is None:
        return _rows(key, page)
    return _pages.get((key, page), lambda: _rows(key, page))


def _size(key: BoardKey) -> int:
    return board(get_problem(key.problem), get_kind(key.hardware), key.order).count()


def _rows(key: BoardKey, page: int) -> tuple[Row, ...]:
    kind, start = get_kind(key.hardware), (page - 1) * PAGE_SIZE
    standings = list(board(get_problem(key.problem), kind, key.order)[start : start + PAGE_SIZE])
    ranked = zip(ranks(standings, start, kind), standings, strict=True)
    return tuple(draw(rank, standing) for rank, standing in ranked)


def draw(rank: int, standing: Standing, *, is_own: bool = False) -> Row:
    """The row of a standing; the reader's own one looks different."""
    kind = get_kind(standing.hardware)
    problem = get_problem(standing.problem)
    benchmarks = problem.benchmarks.get(kind.shapes, ())
    timings = {timing["name"]: timing for timing in standing.timings}
    cells = tuple(timings.get(benchmark.name) for benchmark in benchmarks)
    context = {
        "rank": rank,
        "standing": standing,
        "cells": cells,
        "is_own": is_own,
        "kind": kind,
        "saves": problem.pair is not None,
    }
    return Row(rank, standing, cells, render_to_string("boards/_row.html", context))
