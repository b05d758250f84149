"""Where things are on a roofline plot: logarithmic axes, roofs, points that do not cover each other."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from web.catalogue.roofline import Attained, Roofline, Shape
from wire.verdict import Peak

WIDTH, HEIGHT = 640, 400
LEFT, RIGHT, TOP, BOTTOM = 50, 14, 28, 44
RADIUS = 4.0
_MOST_ASIDE = 6  # places beside its own that a point may take


@dataclass(frozen=True)
class Axis:
    """From pixels `begin` to `end` over powers of ten `low` to `high`."""

    low: float
    high: float
    begin: float
    end: float

    def at(self, value: float) -> float:
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return round(self.begin + share * (self.end - self.begin), 1)

    @property
    def decades(self) -> Sequence[int]:
        return range(math.ceil(self.low), math.floor(self.high) + 1)


@dataclass(frozen=True)
class Tick:
    at: float
    words: str


@dataclass(frozen=True)
class Roof:
    """A limit as a line, with its name at (`x`, `y`)."""

    path: str
    x: float
    y: float
    words: str
    along: str  # "slope" or "level"


@dataclass(frozen=True)
class Point:
    """Something attained, drawn at (`x`, `y`)."""

    attained: Attained
    x: float
    y: float


@dataclass(frozen=True)
class Bound:
    """The roof of one shape: a short line from `x1` to `x2` at the height `y`."""

    shape: Shape
    x1: float
    x2: float
    y: float


@dataclass(frozen=True)
class Plot:
    """All that the template draws."""

    columns: tuple[Tick, ...]
    rows: tuple[Tick, ...]
    roofs: tuple[Roof, ...]
    bounds: tuple[Bound, ...]
    points: tuple[Point, ...]
    width: int = WIDTH
    height: int = HEIGHT
    left: float = LEFT
    right: float = WIDTH - RIGHT
    top: float = TOP
    bottom: float = HEIGHT - BOTTOM


def plot(roofline: Roofline) -> Plot:
    """Axes wide enough for all shapes, points and the ridges of the roofs."""
    peak, shapes = roofline.peak, roofline.shapes
    ridges = (
        [peak.vector_flops / peak.bandwidth, peak.matrix_flops / peak.bandwidth] if peak else []
    )
    across = [*(shape.intensity for shape in shapes), *ridges]
    up = [a.rate for a in roofline.attained] + [s.bound for s in shapes if s.bound]
    x = _axis(across or [1.0], LEFT, WIDTH - RIGHT)
    tops = [peak.vector_flops, peak.matrix_flops] if peak else []
    y = _axis([*up, *tops] or [1e9], HEIGHT - BOTTOM, TOP)
    return Plot(
        columns=tuple(Tick(x.at(10.0**d), _plain(d)) for d in x.decades),
        rows=tuple(Tick(y.at(10.0**d), _si(10.0**d).rstrip()) for d in y.decades),
        roofs=tuple(_roofs(peak, x, y)) if peak else (),
        bounds=tuple(
            Bound(s, x.at(s.intensity) - 9, x.at(s.intensity) + 9, y.at(s.bound))
            for s in shapes
            if s.bound
        ),
        points=_aside([Point(a, x.at(a.shape.intensity), y.at(a.rate)) for a in roofline.attained]),
    )


def _axis(values: Iterable[float], begin: float, end: float) -> Axis:
    """A little wider than the values, and at least two decades."""
    logs = [math.log10(value) for value in values]
    low, high = min(logs) - 0.35, max(logs) + 0.35
    missing = max(2.0 - (high - low), 0.0) / 2
    return Axis(low - missing, high + missing, begin, end)


def _roofs(peak: Peak, x: Axis, y: Axis) -> Iterable[Roof]:
    """The slope of the bandwidth up to the highest roof, and the levels from the slope on."""
    ridge = max(peak.matrix_flops, peak.vector_flops) / peak.bandwidth
    first = max(10**x.low, 10**y.low / peak.bandwidth)
    middle = math.sqrt(first * ridge)
    begin, end = ((x.at(v), y.at(v * peak.bandwidth)) for v in (first, ridge))
    yield Roof(
        path=f"M{begin[0]} {begin[1]}L{end[0]} {end[1]}",
        x=x.at(middle) - 8,
        y=y.at(middle * peak.bandwidth) - 8,
        words=f"memory {_si(peak.bandwidth)}B/s",
        along="slope",
    )
    levels = {"vector units": peak.vector_flops, "matrix units": peak.matrix_flops}
    if math.isclose(peak.vector_flops, peak.matrix_flops):
        levels = {"all units": peak.vector_flops}
    for name, level in levels.items():
        yield Roof(
            path=f"M{x.at(level / peak.bandwidth)} {y.at(level)}H{x.end}",
            x=x.end - 4,
            y=y.at(level) - 6,
            words=f"{name} {rate_words(level)}",
            along="level",
        )


def _aside(points: list[Point]) -> tuple[Point, ...]:
    """Those that would lie on another are moved to its side, right and left in turn."""
    placed: list[Point] = []
    for point in points:
        near = [p for p in placed if abs(p.y - point.y) < 2 * RADIUS]
        steps = [0, *(side * n for n in range(1, _MOST_ASIDE + 1) for side in (1, -1))]
        tried = (point.x + 2 * RADIUS * step for step in steps)
        free = (x for x in tried if all(abs(p.x - x) >= 2 * RADIUS - 0.1 for p in near))
        placed.append(Point(point.attained, round(next(free, point.x), 1), point.y))
    return tuple(placed)


def _plain(decade: int) -> str:
    return f"{10**decade:,}".replace(",", "\N{THIN SPACE}") if decade >= 0 else f"{10.0**decade:g}"


def rate_words(rate: float) -> str:
    """FLOPs a second: "66.9 TFLOP/s"."""
    return f"{_si(rate)}FLOP/s"


def _si(value: float) -> str:
    for factor, prefix in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= factor:
            return f"{value / factor:.3g} {prefix}"
    return f"{value:.3g} "
