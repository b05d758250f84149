"""What the template of a verdict asks about a report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django import template

from wire.verdict import HeatMap

register = template.Library()


@dataclass(frozen=True)
class Cell:
    """A cell of a heat map: its place in the grid and the share of wrong elements in it."""

    x: int
    y: int
    share: float
    row_range: str  # the rows of the gradient it covers, "0-15"
    column_range: str


@register.filter
def cells(heat_map: HeatMap) -> Iterator[Cell]:
    """The cells row by row; those for which the report has no share are left out."""
    for number, share in enumerate(heat_map.wrong_share[: heat_map.rows * heat_map.columns]):
        y, x = divmod(number, heat_map.columns)
        yield Cell(
            x,
            y,
            min(max(share, 0.0), 1.0),
            _range(y, heat_map.rows, heat_map.extent[0]),
            _range(x, heat_map.columns, heat_map.extent[1]),
        )


def _range(cell: int, cells_in_all: int, extent: int) -> str:
    """The indices of the `cell`-th of equal parts of range(extent)."""
    first = cell * extent // cells_in_all
    last = max((cell + 1) * extent // cells_in_all - 1, first)
    return f"{first}-{last}" if last > first else str(first)


@register.filter
def shape(sizes: tuple[int, ...]) -> str:
    """ "(64, 128)"; a scalar is "()"."""
    return "(" + ", ".join(map(str, sizes)) + ("," if len(sizes) == 1 else "") + ")"


@register.filter
def dims(sizes: dict[str, int]) -> str:
    """ "M=64 × N=128"."""
    return " × ".join(f"{name}={size}" for name, size in sizes.items())
