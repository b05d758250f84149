"""Which part of each tensor the programs of a kernel touched: what a picture of it is drawn from.

A tensor is seen as a matrix here, its dimensions but the last as one, and the matrix in at most
`SIDE` × `SIDE` tiles, numbered row by row. Plain data with a JSON form, bounded in every direction.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from wire.reading import Unreadable

SIDE = 64
OPS = ("load", "store", "atomic")
MOST_LAUNCHES = 16
MOST_PROGRAMS = 4096
MOST_MAPS = 48  # of one launch: tensors, each at most once for each of OPS
MOST_LINES = 20
MOST_RUNS = 1 << 16  # of all maps together
_MOST_DIMENSIONS = 8
_MOST_ELEMENTS = 1 << 40


@dataclass(frozen=True)
class TileMap:
    """The tiles of one tensor that programs touched in one way.

    `shape` is the tensor's own. `runs` are triples, one after the other: a program, the first of some
    successive tiles that it touched, and how many they are; by program, then by tile, and none overlap.
    `lines` are the lines of the submitted file that did it.
    """

    tensor: str
    op: str
    shape: tuple[int, ...]
    lines: tuple[int, ...] = ()
    runs: tuple[int, ...] = ()

    @property
    def matrix(self) -> tuple[int, int]:
        """Rows and columns in elements."""
        return math.prod(self.shape[:-1]), self.shape[-1] if self.shape else 1

    @property
    def tile(self) -> tuple[int, int]:
        """Rows and columns of a tile in elements; the last tile of either may be smaller."""
        rows, columns = self.matrix
        return max(-(-rows // SIDE), 1), max(-(-columns // SIDE), 1)

    @property
    def tiles(self) -> tuple[int, int]:
        """How many tiles there are one below the other, and side by side."""
        (rows, columns), (height, width) = self.matrix, self.tile
        return -(-rows // height), -(-columns // width)

    def touched(self) -> Iterator[tuple[int, int, int]]:
        """The runs as (program, first tile, count)."""
        return zip(self.runs[::3], self.runs[1::3], self.runs[2::3], strict=True)


@dataclass(frozen=True)
class LaunchMap:
    """One launch. `mapped` programs are in the maps: the first in the order of a GPU, the grid's first
    dimension fastest; all of the grid's unless there were too many or too little time."""

    kernel: str
    grid: tuple[int, int, int]
    mapped: int
    maps: tuple[TileMap, ...] = ()

    @property
    def programs(self) -> int:
        return math.prod(self.grid)

    def program(self, number: int) -> tuple[int, int, int]:
        """The `tl.program_id` of a program in each dimension."""
        x, y, _ = self.grid
        return number % x, number // x % y, number // (x * y)


@dataclass(frozen=True)
class AccessMaps:
    """What the launches of one call of `backward` touched on a small case; `left_out` launches more
    are not here."""

    case: str
    dims: dict[str, int]
    launches: tuple[LaunchMap, ...] = ()
    left_out: int = 0

    @property
    def first(self) -> int | None:
        """The number of the first launch of which there is a map, from 0."""
        return next((n for n, launch in enumerate(self.launches) if launch.maps), None)

    def without_runs(self) -> AccessMaps:
        """The launches and tensors alone."""
        launches = (
            replace(each, maps=tuple(replace(m, runs=()) for m in each.maps))
            for each in self.launches
        )
        return replace(self, launches=tuple(launches))


def check(maps: AccessMaps) -> None:
    """Raises Unreadable unless every number means something and a page can show so much."""
    if len(maps.launches) > MOST_LAUNCHES or maps.left_out < 0:
        raise Unreadable(f"access maps are of at most {MOST_LAUNCHES} launches")
    if sum(len(m.runs) for each in maps.launches for m in each.maps) > 3 * MOST_RUNS:
        raise Unreadable(f"access maps have at most {MOST_RUNS} runs of tiles together")
    for launch in maps.launches:
        _check_launch(launch)


def _check_launch(launch: LaunchMap) -> None:
    where = f"the access map of {launch.kernel:.60}"
    if any(n < 1 for n in launch.grid) or not (
        0 <= launch.mapped <= min(launch.programs, MOST_PROGRAMS)
    ):
        raise Unreadable(f"{where} has an impossible number of programs")
    if len(launch.maps) > MOST_MAPS:
        raise Unreadable(f"{where} is of more than {MOST_MAPS} tensors")
    if len({(m.tensor, m.op) for m in launch.maps}) < len(launch.maps):
        raise Unreadable(f"{where} has a tensor twice")
    for one in launch.maps:
        _check_map(one, launch.mapped, f"{where}, {one.tensor:.60},")


def _check_map(one: TileMap, programs: int, where: str) -> None:
    if one.op not in OPS:
        raise Unreadable(f"{where} says {one.op!r:.60}, which is none of {', '.join(OPS)}")
    if len(one.shape) > _MOST_DIMENSIONS or any(n < 1 for n in one.shape):
        raise Unreadable(f"{where} is of no shape that anything can be read from")
    if math.prod(one.shape) > _MOST_ELEMENTS:
        raise Unreadable(f"{where} is of too large a tensor")
    if len(one.lines) > MOST_LINES or min(one.lines, default=1) < 1:
        raise Unreadable(f"{where} has lines that no file has, or too many")
    if len(one.runs) % 3:
        raise Unreadable(f"{where} has a run that is cut off")
    last, end = 0, 0
    for program, first, count in one.touched():
        begin = end if program == last else 0
        if not (last <= program < programs and begin <= first and count >= 1):
            raise Unreadable(f"{where} has runs that are out of order or of no program")
        last, end = program, first + count
        if end > math.prod(one.tiles):
            raise Unreadable(f"{where} has tiles that the tensor has not")
