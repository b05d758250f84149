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
pairs of new processes, and all calls count together. How fast the machine runs depends on who else is
there: calls wait until it is calm (`runner.calm`), and those in which it was not do not count, nor do
pairs that found it calm in hardly any, unless it never is.

`Timer` is the seam: a GPU's timer measures with device events behind the same call.
"""

from __future__ import annotations

import secrets
import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import torch

from problems.pairs import Saved, bytes_of
from problems.spec import Benchmark, Dims, Problem
from runner import wording
from runner.answering import Answering
from runner.calm import Machine, Reading, this_machine
from runner.checking import checked, expected, results
from runner.failures import SessionFailed
from runner.pair_session import PairSession
from runner.roofline import Peak
from runner.samples import Checked, Drawn, Measured, Rounds
from runner.session import Returned
from runner.threads import one_thread
from wire.verdict import CALM, Timing, TimingPart

WARM_UP = 2
# In each pair of processes.
FEWEST_ROUNDS = 5
MOST_ROUNDS = 12
SECONDS_PER_SHAPE = 4.0
# What each process has at hand before it is timed: more than the tensors of a call on a benchmark
# shape for the CPU take together. Else its allocator goes on asking the kernel for some in every few
# calls, until there is room between what it gave out before, and such a call takes half as long again.
KEPT_BYTES = 512 << 20
# What a submission may take longer in all where the machine is not calm. After that what there is must
# do, the calmest first.
PATIENCE_SECONDS = 24.0
# In every round, this share of a gradient's elements may differ from the baseline's by more than
# AGREEMENT of their size. Both round to the output's dtype and cancel a little: honest shares are far
# lower. What was rounded before a product is off by a share of the terms, not of a small sum of them, so
# there elements below NEAR_ZERO of the root mean square may differ by as much as those that size.
MOST_STRAYS = 0.01
AGREEMENT = 0.05
NEAR_ZERO = 0.125
# Where several such products follow each other, each rounded in a place of its own.
NEAR_ZERO_AFTER_MANY = 0.25
TIMINGS_PER_SHAPE = 3
# The roofline is itself measured; beyond this a time is an error to examine.
ROOFLINE_MARGIN = 1.05


class Timer(Protocol):
    """Times a submission against the baseline on benchmark shapes."""

    def measure(self, benchmark: Benchmark, submission: Answering, baseline: Answering) -> None:
        """Time one shape in one pair of processes.

        Raises:
            SessionFailed: a timed call failed or returned wrong gradients.
        """

    def timing(self, benchmark: Benchmark) -> Timing:
        """What all pairs of processes that were measured say together."""

    def saved(self, benchmark: Benchmark) -> Saved:
        """What a pair of forward and backward saved on this shape."""


class CpuTimer:
    """Wall-clock timing on the machine's processor."""

    def __init__(self, problem: Problem, peak: Peak, machine: Machine | None = None) -> None:
        self._problem = problem
        self._peak = peak
        self._machine = machine or this_machine()
        self._patience = PATIENCE_SECONDS
        self._cold = torch.zeros(2 * last_level_cache(), dtype=torch.uint8)
        self._pairs: dict[str, list[Measured]] = defaultdict(list)

    def measure(self, benchmark: Benchmark, submission: Answering, baseline: Answering) -> None:
        for session in (submission, baseline):
            session.keep_memory(KEPT_BYTES)
        for _ in range(TIMINGS_PER_SHAPE):
            pair = self._rounds(benchmark, submission, baseline)
            if not pair.whole.clocks_differ():
                break
        self._pairs[benchmark.name].append(pair)

    def _rounds(self, benchmark: Benchmark, submission: Answering, baseline: Answering) -> Measured:
        measured, drawn = Measured(), Drawn()
        with one_thread():  # others would go on spinning for a while, when the next call is timed
            self._fill(measured, drawn, benchmark, submission, baseline)
        for kept in drawn.kept:
            reports = checked(kept.returned, expected(self._problem, kept.arguments))
            _refuse(self._problem, [r.name for r in reports if not r.passed], benchmark)
        return measured.calm(self._machine, FEWEST_ROUNDS)

    def _fill(
        self,
        measured: Measured,
        drawn: Drawn,
        benchmark: Benchmark,
        submission: Answering,
        baseline: Answering,
    ) -> None:
        """Rounds until the medians are settled or time is up."""
        begin = time.monotonic()
        deadline = begin + SECONDS_PER_SHAPE + self._patience
        for number in range(WARM_UP + MOST_ROUNDS):
            arguments = self._problem.make_arguments(benchmark, secrets.randbits(62))
            sessions = (submission, baseline) if number % 2 else (baseline, submission)
            computing: list[float] = []
            meeting = [self._machine.meeting.wait(baseline.seconds_to_meet, deadline)]
            found: dict[Answering, Returned] = {}
            for session in sessions:
                session.prepare(arguments, benchmark.dims)
                found[session] = session.call(self._before(computing, deadline))
                computing.append(self._machine.computing.read(self._machine.seconds_to_compute))
            meeting.append(self._machine.meeting.read(baseline.seconds_to_meet))
            ours, theirs = found[submission], found[baseline]
            self._compare(benchmark, ours, theirs)
            handing_over = None
            if isinstance(baseline, PairSession):
                handing_over = baseline.seconds_to_hand_over(ours)
            if number < WARM_UP:
                continue
            drawn.offer(Checked(arguments, ours))
            reading = Reading(max(computing), max(meeting))
            measured.add(ours, theirs, handing_over, reading)
            if self._enough(measured, time.monotonic() - begin):
                break
        late = time.monotonic() - begin - SECONDS_PER_SHAPE
        self._patience = max(self._patience - max(late, 0.0), 0.0)

    def _before(self, readings: list[float], deadline: float) -> Callable[[], None]:
        """What is done ahead of a call: wait for the machine, until `deadline`, and empty the caches."""

        def before() -> None:
            machine = self._machine
            readings.append(machine.computing.wait(machine.seconds_to_compute, deadline))
            self._cold.add_(1)

        return before

    def _enough(self, measured: Measured, seconds: float) -> bool:
        """Whether the rounds so far, which took `seconds`, will do."""
        if measured.calls < FEWEST_ROUNDS:
            return False
        if seconds > SECONDS_PER_SHAPE + self._patience:
            return True
        if measured.calm_calls(self._machine) < FEWEST_ROUNDS:
            return False
        return seconds > SECONDS_PER_SHAPE or measured.calm(self._machine, FEWEST_ROUNDS).settled()

    def _compare(self, benchmark: Benchmark, ours: Returned, theirs: Returned) -> None:
        both = zip(results(self._problem, ours), results(self._problem, theirs), strict=True)
        near_zero = near_zero_of(self._problem)
        wrong = [spec.name for (spec, a), (_, b) in both if strays(a, b, near_zero) > MOST_STRAYS]
        _refuse(self._problem, wrong, benchmark)

    def saved(self, benchmark: Benchmark) -> Saved:
        """What a pair saved on this shape: where it differed from call to call, the most."""
        return max((pair.saved or () for pair in self._pairs[benchmark.name]), key=bytes_of)

    def timing(self, benchmark: Benchmark) -> Timing:
        pairs = self._calm_pairs(benchmark)
        rounds = [pair.whole for pair in pairs]
        times = [t for r in rounds for t in r.times()]
        median = statistics.median(times)
        low, _, high = statistics.quantiles(times, n=4)
        baseline = statistics.median(t for r in rounds for t in r.baseline_times())
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
            reported=statistics.median(t for r in rounds for t in r.ours.reported),
            uncertainty=max(r.uncertainty() for r in rounds),
            slowdown=statistics.median(s for pair in pairs for s in self._slowdowns(pair)),
            parts=_parts([pair.forward for pair in pairs], median, baseline),
        )

    def _calm_pairs(self, benchmark: Benchmark) -> list[Measured]:
        """The pairs of processes that ran while the machine was calm, or all if none did."""
        pairs = self._pairs[benchmark.name]
        return [p for p in pairs if statistics.median(self._slowdowns(p)) <= CALM] or pairs

    def _slowdowns(self, pair: Measured) -> list[float]:
        return [self._machine.slowdown(reading) for reading in pair.readings]


def _parts(forward: list[Rounds], median: float, baseline: float) -> tuple[TimingPart, ...]:
    """How the time of a pair is shared out: what is not `forward` is `backward`."""
    times = [t for r in forward if r.ours.wall for t in r.times()]
    if not times:
        return ()
    ours = min(statistics.median(times), median)
    theirs = statistics.median(t for r in forward for t in r.baseline_times())
    return (
        TimingPart("forward", ours, theirs),
        TimingPart("backward", median - ours, max(baseline - theirs, 0.0)),
    )


def near_zero_of(problem: Problem) -> float:
    """Below which share of the root mean square an element's own size says nothing."""
    if problem.free_roundings:
        return NEAR_ZERO_AFTER_MANY
    return NEAR_ZERO if problem.chained_products else 0.0


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


def _refuse(problem: Problem, wrong: list[str], benchmark: Benchmark) -> None:
    if wrong:
        raise SessionFailed(
            wording.verdict_on(problem, wrong),
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
