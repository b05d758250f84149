"""An access map as a page shows it: which launch and tensor, up to which program, and what to draw.

web/assets/src/maps.js draws the same for other programs; both go by the numbers in `Picture.data`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import Http404, QueryDict

from wire.access_maps import AccessMaps, LaunchMap, TileMap

VIEWS = ("upto", "only")
WIDEST = 512.0  # of a drawing, in pixels
LARGEST = 32.0  # of a tile
# The most programs of each shade: 1, 2, 3 to 4, 5 to 8, 9 to 16, more.
SHADES = (1, 2, 4, 8, 16, math.inf)


@dataclass(frozen=True)
class Pick:
    """One tensor of a launch, touched in one way; and a program, alone or with all before it."""

    maps: AccessMaps
    number: int  # of the launch, from 0
    map: TileMap
    program: int
    view: str

    @property
    def launch(self) -> LaunchMap:
        return self.maps.launches[self.number]

    def changed(self, **changes: str | int) -> str:
        """Parameters of an address that picks the same but for the changes."""
        same = {"launch": self.number, "tensor": self.map.tensor, "op": self.map.op}
        return urlencode(same | changes)


@dataclass(frozen=True)
class Shade:
    """The tiles that `words` programs touched, as a path in units of tiles."""

    number: int
    words: str
    tiles: int
    path: str


@dataclass(frozen=True)
class Picture:
    """What is drawn, `width` × `height` pixels large; `now` are the tiles of the program itself."""

    width: float
    height: float
    scale: tuple[float, float]
    shades: tuple[Shade, ...]
    lines: str
    now: str
    touched: int
    tiles: int
    most: int


def picked(maps: AccessMaps, parameters: QueryDict) -> Pick:
    """What `launch`, `tensor`, `op`, `program` and `view` of an address pick; what is not said, or is
    not there in this launch, is the first; the program the last, with all before it.

    Raises:
        Http404: there is no such launch, or no map of it.
    """
    number = _number(parameters.get("launch", ""), maps.first)
    if number is None or number >= len(maps.launches) or not maps.launches[number].maps:
        raise Http404("There is no access map of such a launch.")
    launch = maps.launches[number]
    wanted = (parameters.get("tensor", ""), parameters.get("op", ""))
    found = [m for m in launch.maps if m.tensor == wanted[0]] or launch.maps
    one = next((m for m in found if m.op == wanted[1]), found[0])
    last = max(launch.mapped - 1, 0)
    program = _number(parameters.get("program", ""), last)
    view = parameters.get("view", "")
    return Pick(
        maps=maps,
        number=number,
        map=one,
        program=last if program is None else min(program, last),
        view=view if view in VIEWS else VIEWS[0],
    )


def _number(text: str, default: int | None) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else default


def picture(pick: Pick) -> Picture:
    """How often each tile was touched by the programs that the pick is about."""
    rows, columns = pick.map.tiles
    counts: Counter[int] = Counter()
    now: list[int] = []
    for program, first, count in pick.map.touched():
        if program == pick.program:
            now.extend(range(first, first + count))
        if program == pick.program or (program < pick.program and pick.view == "upto"):
            counts.update(range(first, first + count))
    width = min(LARGEST, WIDEST / columns)
    height = min(LARGEST, WIDEST / rows)
    return Picture(
        width=round(width * columns, 2),
        height=round(height * rows, 2),
        scale=(round(width, 4), round(height, 4)),
        shades=_shades(counts, columns),
        lines=_lines(rows, columns),
        now=_path(now, columns),
        touched=len(counts),
        tiles=rows * columns,
        most=max(counts.values(), default=0),
    )


def _shades(counts: Counter[int], columns: int) -> tuple[Shade, ...]:
    shades, least = [], 1
    for number, most in enumerate(SHADES, 1):
        tiles = sorted(tile for tile, count in counts.items() if least <= count <= most)
        shades.append(Shade(number, _words(least, most), len(tiles), _path(tiles, columns)))
        least = int(most) + 1 if most < math.inf else least
    return tuple(shades)


def _words(least: int, most: float) -> str:
    if most == math.inf:
        return f"{least} and more"
    return str(least) if least == most else f"{least} to {int(most)}"


def _path(tiles: Sequence[int], columns: int) -> str:
    """Rectangles over sorted tiles: runs in a row, those alike in the rows below added to the first."""
    drawn: dict[tuple[int, int, int], int] = {}  # by left, right and the row below: the top
    for row, left, right in _runs(tiles, columns):
        top = drawn.pop((left, right, row), row)
        drawn[left, right, row + 1] = top
    found = sorted((top, left, right, end) for (left, right, end), top in drawn.items())
    return "".join(f"M{x} {y}h{right - x}v{end - y}h-{right - x}z" for y, x, right, end in found)


def _runs(tiles: Sequence[int], columns: int) -> Iterator[tuple[int, int, int]]:
    """Successive tiles of a row: the row, the first column and the one after the last."""
    at = 0
    while at < len(tiles):
        end = at + 1
        while end < len(tiles) and tiles[end] == tiles[end - 1] + 1 and tiles[end] % columns:
            end += 1
        row, left = divmod(tiles[at], columns)
        yield row, left, left + end - at
        at = end


def _lines(rows: int, columns: int) -> str:
    """Between the tiles."""
    down = "".join(f"M{x} 0v{rows}" for x in range(1, columns))
    return down + "".join(f"M0 {y}h{columns}" for y in range(1, rows))


def data(pick: Pick) -> dict[str, object]:
    """What the script draws other programs from."""
    return {
        "grid": pick.launch.grid,
        "programs": pick.launch.mapped,
        "runs": pick.map.runs,
        "tiles": pick.map.tiles,
        "tile": pick.map.tile,
        "matrix": pick.map.matrix,
        "shades": [most for most in SHADES if most < math.inf],
    }
