"""What stands on a problem's roofline plot: the machine's limits, the benchmark shapes, and who attains
what there.

The model is Williams, Waterman and Patterson's (2009). A shape's arithmetic intensity is that of the
least work it needs (`Problem.cost`), the same for everybody; the rate that somebody attains is the
shape's FLOPs by their time, so that the share of the roof is what a score is made of.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from problems.spec import Benchmark, Cost, Problem
from web.accounts.models import User
from web.boards.freshness import version_of
from web.boards.models import Standing
from web.boards.queries import board, own_standings
from web.boards.shelf import Shelf
from web.catalogue.pages import reference_solutions
from web.hardware import get_kind
from web.inspection.references import reference
from wire.gpus import GPUS
from wire.inspection import MODEL, RANKED_GPU
from wire.messages import Hardware
from wire.reading import Unreadable, read
from wire.verdict import Peak

CPU = "cpu"
# The GPU for which times on boards are modelled.
RANKED = next(key for key, gpu in GPUS.items() if gpu.name == RANKED_GPU)
MOST_POINTS = 200  # of submissions: the best, each on all shapes


@dataclass(frozen=True)
class Machine:
    """What one can choose: the site's processor or a GPU. `board` is the hardware whose board has times
    on it, "" if none has; what is not `measured` is modelled."""

    key: str
    label: str
    shapes: str
    board: str
    measured: bool


MACHINES: Mapping[str, Machine] = {
    machine.key: machine
    for machine in (
        *(
            Machine(gpu.target, gpu.name, "gpu", Hardware.INTERPRETER * (key == RANKED), False)
            for key, gpu in GPUS.items()
        ),
        Machine(CPU, "this site’s CPU", "cpu", Hardware.CPU, True),
    )
}


@dataclass(frozen=True)
class Shape:
    """A benchmark shape; `bound` is the rate at its roof, None where the machine's peak is unknown."""

    benchmark: Benchmark
    flops: int
    intensity: float
    bound: float | None


@dataclass(frozen=True)
class Attained:
    """What somebody attains on a shape, in FLOPs a second. `share` is that of the roof. A reference has
    no `submission`; its `path` is that of its page's section."""

    who: str
    shape: Shape
    seconds: float
    rate: float
    share: float
    measured: bool
    submission: uuid.UUID | None = None
    user: int | None = None


@dataclass(frozen=True)
class Roofline:
    """All of it. `left_out` standings are worse than those that are shown."""

    machine: Machine
    peak: Peak | None
    shapes: tuple[Shape, ...]
    attained: tuple[Attained, ...]
    left_out: int = 0


Key = tuple[str, int, str, int]


def state(problem: Problem, machine: Machine) -> Key:
    """Names what a plot is drawn from: another one as soon as anything on it changes. One query."""
    version = version_of(problem.slug, machine.board) if machine.board else None
    return problem.slug, problem.version, machine.key, version or 0  # 0: nobody ever stood there


_kept: Shelf[Key, Roofline] = Shelf(256)


def roofline(problem: Problem, machine: Machine, key: Key) -> Roofline:
    """Everything, in a fixed number of queries; kept under its `state`."""
    return _kept.get(key, lambda: _roofline(problem, machine))


def with_own(found: Roofline, problem: Problem, user: User) -> Roofline:
    """The same with the user's own points, if they are among those left out."""
    if not found.left_out or any(one.user == user.pk for one in found.attained):
        return found
    shapes = {shape.benchmark.name: shape for shape in found.shapes}
    own = [s for s in own_standings(problem, user) if s.hardware == found.machine.board]
    return replace(found, attained=(*found.attained, *_submissions(own, shapes, found.machine)))


def _roofline(problem: Problem, machine: Machine) -> Roofline:
    benchmarks = problem.benchmarks.get(machine.shapes, ())
    most = MOST_POINTS // max(len(benchmarks), 1)
    standings: list[Standing] = []
    left_out = 0
    if machine.board:
        everybody = board(problem, get_kind(machine.board))
        standings = list(everybody[:most])
        left_out = everybody.count() - len(standings) if len(standings) == most else 0
    peak = _peak(machine, standings)
    shapes = {b.name: _shape(b, problem, peak) for b in benchmarks}
    points = [
        *_references(problem, machine, shapes),
        *(_baseline(standings[:1], shapes) if machine.measured else ()),
        *_submissions(standings, shapes, machine),
    ]
    return Roofline(machine, peak, tuple(shapes.values()), tuple(points), left_out)


def _peak(machine: Machine, standings: list[Standing]) -> Peak | None:
    """A GPU's is published; the processor's is what the machine measured that timed the latest."""
    if machine.key in GPUS:
        gpu = GPUS[machine.key]
        return Peak(gpu.bandwidth, gpu.vector_flops, gpu.tensor_flops["bf16"])
    told = Standing.objects.filter(
        pk__in=[standing.pk for standing in standings], submission__report__peak__isnull=False
    ).order_by("-achieved_at")
    found = told.values_list("submission__report__peak", flat=True).first()
    try:
        return read(Peak, found, "peak")
    except Unreadable:
        return None  # all of them were judged before a report said it


def _shape(benchmark: Benchmark, problem: Problem, peak: Peak | None) -> Shape:
    cost = problem.cost(benchmark.dims)
    flops = cost.vector_flops + cost.matrix_flops
    bound = flops / seconds_at_least(cost, peak) if peak else None
    return Shape(benchmark, flops, cost.arithmetic_intensity, bound)


def seconds_at_least(cost: Cost, peak: Peak) -> float:
    """The time below which nothing is possible."""
    return max(
        cost.bytes / peak.bandwidth,
        cost.vector_flops / peak.vector_flops,
        cost.matrix_flops / peak.matrix_flops,
    )


def _references(
    problem: Problem, machine: Machine, shapes: Mapping[str, Shape]
) -> Iterable[Attained]:
    for solution in reference_solutions(problem.slug):
        recorded = reference(solution)
        for time in recorded.inspection.models if recorded else ():
            shape = shapes.get(time.benchmark)
            if time.gpu == machine.label and time.version == MODEL and shape:
                yield _attained(
                    f"reference, {solution.label}", shape, time.seconds, time.efficiency
                )


def _baseline(best: list[Standing], shapes: Mapping[str, Shape]) -> Iterable[Attained]:
    """Plain PyTorch, which is timed beside every submission: as it was beside the best one."""
    for timing in best[0].timings if best else ():
        shape, speedup = shapes.get(timing["name"]), timing["speedup"]
        if shape:
            yield _attained(
                "plain PyTorch, the baseline",
                shape,
                timing["median"] * speedup,
                timing["efficiency"] / speedup,
                measured=True,
            )


def _submissions(
    standings: Iterable[Standing], shapes: Mapping[str, Shape], machine: Machine
) -> Iterable[Attained]:
    for standing in standings:
        if standing.comparable_score is None:
            continue  # of an older model, or not modelled yet
        is_of_today = standing.comparable_score is not None
        for timing in standing.timings if is_of_today else ():
            shape = shapes.get(timing["name"])
            seconds = timing["median" if machine.measured else "modelled"]
            if shape:
                yield _attained(
                    standing.user.username,
                    shape,
                    seconds,
                    timing["efficiency"],
                    measured=machine.measured,
                    submission=standing.submission_id,
                    user=standing.user_id,
                )


def _attained(
    who: str, shape: Shape, seconds: float, share: float, *, measured: bool = False, **more: Any
) -> Attained:
    return Attained(who, shape, seconds, shape.flops / seconds, share, measured, **more)
