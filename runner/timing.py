"""Honest time.

The judge's own clock, outside the sandbox, is the authority: it runs from the command to call until the
gradients lie in shared memory, so that work put off until after `backward` returned is counted. What the
command, the answer and the handing over cost by themselves is known from the baseline, an honest process
that hands over gradients of the same size in the same rounds, and is taken off. The sandbox's own figure
must agree, or the submission is not ranked; since a busy machine can part them too, a shape on which
they differ is timed again before that is said.

Inputs are new in every round and the same for both; the order alternates; caches are made cold before
every call. A process runs only while it is asked something, and sees the inputs' values no sooner than
the clock runs. The gradients of every round are compared with the baseline's, closely enough that hardly
any work can be left out; those of rounds drawn from all of them, when they are over, with float64.

How fast a process runs also depends on where its memory came to lie: every shape is timed in several
pairs of new processes, and all calls count together.

`Timer` is the seam: a GPU's timer measures with device events behind the same call.
"""

from __future__ import annotations

import math
import secrets
import statistics
import time
from collections import defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

import torch

from problems.spec import Benchmark, Dims, Gradients, Problem, Tensors
from runner.compare import compare, expect
from runner.failures import SessionFailed
from runner.roofline import Peak
from runner.session import Returned, Session
from wire.verdict import Timing, Verdict

WARM_UP = 2
# In each pair of processes.
FEWEST_ROUNDS = 5
MOST_ROUNDS = 10
SECONDS_PER_SHAPE = 4.0
# Stop when the standard error of both medians is below this share of them.
RELATIVE_ERROR = 0.02
CHECKED_ROUNDS = 2
# In every round, this share of a gradient's elements may differ from the baseline's by more than
# AGREEMENT of their size. Both round to the output's dtype and cancel a little: honest shares are far
# lower. What was rounded before a product is off by a share of the terms, not of a small sum of them, so
# there elements below NEAR_ZERO of the root mean square may differ by as much as those that size.
MOST_STRAYS = 0.01
AGREEMENT = 0.05
NEAR_ZERO = 0.125
# The clocks may differ by this share, and by this much in seconds, besides the spread of the overhead
# on either side. How far a submission's own overhead may spread is bounded: nobody buys an excuse.
CLOCK_SHARE = 0.05
MOST_SPREAD = 0.2
CLOCK_SECONDS = 100e-6
TIMINGS_PER_SHAPE = 3
# The roofline is itself measured; beyond this a time is an error to examine.
ROOFLINE_MARGIN = 1.05


class Timer(Protocol):
    """Times a submission against the baseline on benchmark shapes."""

    def measure(self, benchmark: Benchmark, submission: Session, baseline: Session) -> None:
        """Time one shape in one pair of processes.

        Raises:
            SessionFailed: a timed call failed or returned wrong gradients.
        """

    def timing(self, benchmark: Benchmark) -> Timing:
        """What all pairs of processes that were measured say together."""


@dataclass
class _Samples:
    wall: list[float] = field(default_factory=list)
    reported: list[float] = field(default_factory=list)

    def add(self, returned: Returned) -> None:
        self.wall.append(returned.wall)
        self.reported.append(returned.reported)

    def overheads(self) -> list[float]:
        """Seconds of each call outside what the process says that the work took."""
        return [w - r for w, r in zip(self.wall, self.reported, strict=True)]

    def settled(self) -> bool:
        """The median is known within RELATIVE_ERROR (standard error of a median: 1.2533 s / sqrt n)."""
        error = 1.2533 * statistics.stdev(self.wall) / math.sqrt(len(self.wall))
        return error < RELATIVE_ERROR * statistics.median(self.wall)


@dataclass(frozen=True)
class _Pair:
    """What one process of the submission and one of the baseline needed, in the same rounds."""

    ours: _Samples
    theirs: _Samples

    @property
    def overhead(self) -> float:
        """What a call costs besides the work, by the median of the honest process."""
        return statistics.median(self.theirs.overheads())

    def times(self) -> list[float]:
        return [max(wall - self.overhead, 1e-9) for wall in self.ours.wall]

    def baseline_times(self) -> list[float]:
        return [wall - self.overhead for wall in self.theirs.wall]

    def clocks_differ(self) -> bool:
        median = statistics.median(self.times())
        reported = statistics.median(self.ours.reported)
        return abs(reported - median) > self.uncertainty()

    def uncertainty(self) -> float:
        median = statistics.median(self.times())
        own_spread = min(_spread(self.ours.overheads()), MOST_SPREAD * median)
        spread = _spread(self.theirs.overheads()) + own_spread
        return CLOCK_SHARE * median + spread + CLOCK_SECONDS


class CpuTimer:
    """Wall-clock timing on the machine's processor."""

    def __init__(self, problem: Problem, peak: Peak) -> None:
        self._problem = problem
        self._peak = peak
        self._cold = torch.zeros(2 * last_level_cache(), dtype=torch.uint8)
        self._pairs: dict[str, list[_Pair]] = defaultdict(list)

    def measure(self, benchmark: Benchmark, submission: Session, baseline: Session) -> None:
        for _ in range(TIMINGS_PER_SHAPE):
            pair = self._rounds(benchmark, submission, baseline)
            if not pair.clocks_differ():
                break
        self._pairs[benchmark.name].append(pair)

    def _rounds(self, benchmark: Benchmark, submission: Session, baseline: Session) -> _Pair:
        ours, theirs = _Samples(), _Samples()
        drawn = _Drawn()
        begin = time.monotonic()
        for number in range(WARM_UP + MOST_ROUNDS):
            arguments = self._problem.make_arguments(benchmark, secrets.randbits(62))
            returned = self._round(benchmark, arguments, submission, baseline, number)
            if number < WARM_UP:
                continue
            drawn.offer(arguments, returned[0].gradients)
            ours.add(returned[0])
            theirs.add(returned[1])
            if len(ours.wall) >= FEWEST_ROUNDS and (
                (ours.settled() and theirs.settled())
                or time.monotonic() - begin > SECONDS_PER_SHAPE
            ):
                break
        for arguments, gradients in drawn.kept:
            reports = compare(self._problem, gradients, expect(self._problem, arguments))
            _refuse([r.name for r in reports if not r.passed], benchmark)
        return _Pair(ours, theirs)

    def _round(
        self,
        benchmark: Benchmark,
        arguments: Tensors,
        submission: Session,
        baseline: Session,
        number: int,
    ) -> tuple[Returned, Returned]:
        results: dict[Session, Returned] = {}
        order = (submission, baseline) if number % 2 else (baseline, submission)
        for session in order:
            session.prepare(arguments, benchmark.dims)
            self._cold.add_(1)
            results[session] = session.call()
        ours, theirs = results[submission], results[baseline]
        pairs = zip(self._problem.gradients, ours.gradients, theirs.gradients, strict=True)
        near_zero = NEAR_ZERO if self._problem.chained_products else 0.0
        _refuse([g.name for g, a, b in pairs if strays(a, b, near_zero) > MOST_STRAYS], benchmark)
        return ours, theirs

    def timing(self, benchmark: Benchmark) -> Timing:
        pairs = self._pairs[benchmark.name]
        times = [t for pair in pairs for t in pair.times()]
        median = statistics.median(times)
        low, _, high = statistics.quantiles(times, n=4)
        baseline = statistics.median(t for pair in pairs for t in pair.baseline_times())
        roofline = self._peak.time(self._problem.cost(benchmark.dims))
        return Timing(
            name=benchmark.name,
            model=benchmark.model,
            dims=dict(benchmark.dims),
            median=median,
            quartiles=(low, high),
            calls=len(times),
            processes=len(pairs),
            baseline=baseline,
            roofline=roofline,
            efficiency=roofline / median,
            speedup=baseline / median,
            reported=statistics.median(t for pair in pairs for t in pair.ours.reported),
            uncertainty=max(pair.uncertainty() for pair in pairs),
        )


class _Drawn:
    """CHECKED_ROUNDS rounds, every one offered with the same chance (reservoir sampling: Vitter,
    *Random sampling with a reservoir*, 1985)."""

    def __init__(self) -> None:
        self.kept: list[tuple[Tensors, Gradients]] = []
        self._offered = 0

    def offer(self, arguments: Tensors, gradients: Gradients) -> None:
        self._offered += 1
        if len(self.kept) < CHECKED_ROUNDS:
            self.kept.append((arguments, gradients))
            return
        place = secrets.randbelow(self._offered)
        if place < CHECKED_ROUNDS:
            self.kept[place] = (arguments, gradients)


def _spread(values: list[float]) -> float:
    """The interquartile range."""
    low, _, high = statistics.quantiles(values, n=4)
    return high - low


def strays(ours: torch.Tensor, theirs: torch.Tensor, near_zero: float = 0.0) -> float:
    """The share of elements in which two computations of one gradient do not agree.

    Elements below `near_zero` times the root mean square are measured by that instead of by their size.
    """
    if not ours.numel():
        return 0.0
    a, b = ours.float(), theirs.float()
    size = b.abs().clamp_(min=near_zero * float(b.square().mean().sqrt()))
    within = (a - b).abs_() <= size.mul_(AGREEMENT)  # false for NaN
    return 1.0 - float(within.float().mean())


def _refuse(wrong: list[str], benchmark: Benchmark) -> None:
    if wrong:
        raise SessionFailed(
            Verdict.WRONG_GRADIENT,
            f"{' and '.join(wrong)}: wrong in a timed call of {benchmark.name} "
            f"({benchmark.shape_label}), though the cases passed.",
        )


def against(peak: Peak, problem: Problem, timing: Timing, dims: Dims) -> Timing:
    """`timing` with its efficiency measured against another peak."""
    roofline = peak.time(problem.cost(dims))
    return replace(timing, roofline=roofline, efficiency=roofline / timing.median)


def objections(timings: tuple[Timing, ...]) -> str:
    """Why these timings may not be ranked; empty when they may."""
    for timing in timings:
        if abs(timing.reported - timing.median) > timing.uncertainty:
            return (
                f"On {timing.name} the process's own clock says {timing.reported * 1e3:.3f} ms and the "
                f"judge's {timing.median * 1e3:.3f} ms, which is more apart than "
                f"{timing.uncertainty * 1e3:.3f} ms allow."
            )
        if timing.efficiency > ROOFLINE_MARGIN:
            return (
                f"On {timing.name} the time is below the roofline ({timing.efficiency:.2f} of the speed "
                "of light), which is held for examination."
            )
    return ""


def last_level_cache() -> int:
    """Bytes of the largest cache of the first processor, at most 256 MiB; 64 MiB if unknown."""
    sizes = []
    for path in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
        text = path.read_text(encoding="ascii").strip()
        unit = {"K": 1 << 10, "M": 1 << 20}.get(text[-1], 1)
        sizes.append(int(text.rstrip("KM")) * unit)
    return min(max(sizes, default=64 << 20), 256 << 20)
