"""What the template of a verdict asks about a report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from django import template

from wire.inspection import Finding
from wire.verdict import CaseReport, HeatMap

register = template.Library()

_FAINTEST = 0.25
_DRAWN_WIDTH = 240  # pixels


@dataclass(frozen=True)
class Cell:
    """A cell of a heat map: its place in the grid and the share of wrong elements in it."""

    x: int
    y: int
    share: float
    opacity: float  # of its drawing: the darker the more, and never too faint to see
    row_range: str  # the rows of the gradient it covers, "0-15"
    column_range: str


@register.filter
def cells(heat_map: HeatMap) -> Iterator[Cell]:
    """The cells row by row; those for which the report has no share are left out."""
    for number, reported in enumerate(heat_map.wrong_share[: heat_map.rows * heat_map.columns]):
        y, x = divmod(number, heat_map.columns)
        share = min(max(reported, 0.0), 1.0)
        yield Cell(
            x,
            y,
            share,
            round(_FAINTEST + (1 - _FAINTEST) * share, 2) if share else 0.0,
            _range(y, heat_map.rows, heat_map.extent[0]),
            _range(x, heat_map.columns, heat_map.extent[1]),
        )


@register.filter
def failed(cases: Iterable[CaseReport]) -> list[CaseReport]:
    """The cases that did not pass."""
    return [case for case in cases if not case.passed]


@register.filter
def public(cases: Iterable[CaseReport], is_public: bool) -> list[CaseReport]:
    """The public cases, or the hidden ones."""
    return [case for case in cases if case.public == is_public]


@register.filter
def lines(findings: Iterable[Finding] | None) -> set[int]:
    """The lines of the source that these are about."""
    return {finding.line for finding in findings or ()}


@register.filter
def words(kind: str) -> str:
    """A kind of finding as people say it: "out_of_bounds" is "Out of bounds"."""
    return kind.replace("_", " ").capitalize()


@register.filter
def wrong_region(heat_map: HeatMap) -> str:
    """In words, the smallest block with all that is wrong: "rows 32-63 of 64, all 128 columns".

    A vector's is "elements 2-63 of 64". As exact as the grid is fine; "" if nothing is wrong.
    """
    wrong = [cell for cell in cells(heat_map) if cell.share > 0]
    if not wrong:
        return ""
    if heat_map.extent[0] == 1:
        return _in_words("element", [c.x for c in wrong], heat_map.columns, heat_map.extent[1])
    rows = _in_words("row", [c.y for c in wrong], heat_map.rows, heat_map.extent[0])
    columns = _in_words("column", [c.x for c in wrong], heat_map.columns, heat_map.extent[1])
    return f"{rows}, {columns}"


@register.filter
def drawn_height(heat_map: HeatMap) -> int:
    """Height in pixels of a drawing as wide as all are, with cells that are square within reason."""
    square = round(_DRAWN_WIDTH * heat_map.rows / heat_map.columns)
    return max(14, min(_DRAWN_WIDTH, square))


@register.filter
def share_of(part: int, whole: int) -> float | None:
    """`part` of `whole` for the filter `percent`; None if there is no whole."""
    return part / whole if whole else None


def _in_words(axis: str, touched: list[int], cells_in_all: int, extent: int) -> str:
    if extent == 1:
        return f"the one {axis}"
    first = _first(min(touched), cells_in_all, extent)
    last = _first(max(touched) + 1, cells_in_all, extent) - 1
    if last - first + 1 >= extent:
        return f"all {extent} {axis}s"
    return f"{axis}s {first}-{last} of {extent}" if last > first else f"{axis} {first} of {extent}"


def _range(cell: int, cells_in_all: int, extent: int) -> str:
    """The indices of the `cell`-th part of range(extent)."""
    first = _first(cell, cells_in_all, extent)
    last = max(_first(cell + 1, cells_in_all, extent) - 1, first)
    return f"{first}-{last}" if last > first else str(first)


def _first(cell: int, cells_in_all: int, extent: int) -> int:
    """The first index of a cell, where index i lies in cell i * cells_in_all // extent."""
    return -(-cell * extent // cells_in_all)


@register.filter
def shape(sizes: tuple[int, ...]) -> str:
    """ "(64, 128)"; a scalar is "()"."""
    return "(" + ", ".join(map(str, sizes)) + ("," if len(sizes) == 1 else "") + ")"


@register.filter
def dims(sizes: dict[str, int]) -> str:
    """ "M=64 × N=128"."""
    return " × ".join(f"{name}={size}" for name, size in sizes.items())
