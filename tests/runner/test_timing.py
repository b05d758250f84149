"""The timer against processes whose true cost is known: a clock that is not the machine's."""

import runpy
from pathlib import Path

import pytest
import torch

import kernels
from problems import all_problems, get_problem
from problems.pairs import whole
from problems.spec import Benchmark
from runner import timing
from runner.calm import Machine
from runner.failures import SessionFailed
from runner.roofline import Peak
from runner.session import Returned
from runner.timing import (
    MOST_STRAYS,
    CpuTimer,
    last_level_cache,
    near_zero_of,
    objections,
    strays,
)
from wire.verdict import Verdict

PROBLEM = get_problem("relu_squared")
SHAPE = Benchmark(name="small", dims={"M": 8, "N": 64}, model="none")
PEAK = Peak(bandwidth=1e9, vector_flops=1e12, matrix_flops=1e12)
OVERHEAD = 0.002
KERNELS = Path(kernels.__file__ or "").parent


class FakeProcess:
    """Returns right gradients; `seconds` it works, `hidden` it works after it said it was done."""

    def __init__(self, seconds, hidden=0.0, claims=None, change=None):
        self.seconds, self.hidden, self.claims, self.change = seconds, hidden, claims, change
        self.seen = []

    def keep_memory(self, amount):
        assert not self.seen, "a call would pay for it"

    def seconds_to_meet(self):
        return 1.0

    def prepare(self, arguments, dims):
        self.arguments = arguments
        self.seen.append(arguments["x"].view(torch.int16).numpy().tobytes())

    def call(self, before=lambda: None):
        before()
        gradients = PROBLEM.baseline(**self.arguments)
        if self.change is not None:
            gradients = tuple(self.change(g) for g in gradients)
        jitter = 1 + 0.01 * (len(self.seen) % 3)
        wall = (self.seconds + self.hidden) * jitter + OVERHEAD
        reported = self.seconds * jitter if self.claims is None else self.claims
        return Returned(gradients=gradients, wall=wall, reported=reported)


def timed(timer, submission, baseline):
    """What one pair of processes says."""
    timer.measure(SHAPE, submission, baseline)
    return timer.timing(SHAPE)


@pytest.fixture
def timer(monkeypatch):
    monkeypatch.setattr(timing, "last_level_cache", lambda: 1024)
    return CpuTimer(PROBLEM, PEAK, Machine(lambda: 1.0))


class Shared:
    """A machine that a stranger slows down by half during some of the calls. It shows in arithmetic, or
    when threads meet."""

    def __init__(self, slow_calls, shows_in):
        self.slow_calls, self.calls, self.shows_in = slow_calls, 0, shows_in
        self.machine = Machine(lambda: self.seconds("computing"))
        for gauge in (self.machine.computing, self.machine.meeting):
            gauge.read(lambda: 1.0)

    def seconds(self, kind):
        return 1.5 if self.slow and kind == self.shows_in else 1.0

    @property
    def slow(self):
        return self.calls in self.slow_calls

    def process(self, seconds):
        machine = self

        class OnIt(FakeProcess):
            def seconds_to_meet(self):
                return machine.seconds("meeting")

            def call(self, before=lambda: None):
                before()
                machine.calls += 1
                self.seconds = seconds * (1.5 if machine.slow else 1.0)
                return super().call()

        return OnIt(seconds)


@pytest.fixture
def impatient(monkeypatch):
    """A timer on a machine that waits for nothing and takes as many rounds as it may."""
    monkeypatch.setattr(timing, "last_level_cache", lambda: 1024)
    monkeypatch.setattr(timing, "PATIENCE_SECONDS", -timing.SECONDS_PER_SHAPE)
    monkeypatch.setattr(CpuTimer, "_enough", lambda *_: False)
    return lambda shared: CpuTimer(PROBLEM, PEAK, shared.machine)


CALLS = 2 * (timing.WARM_UP + timing.MOST_ROUNDS)


def test_the_cost_of_talking_and_handing_over_is_taken_off(timer):
    result = timed(timer, FakeProcess(0.010), FakeProcess(0.030))
    assert result.median == pytest.approx(0.010, rel=0.03)
    assert result.baseline == pytest.approx(0.030, rel=0.03)
    assert result.speedup == pytest.approx(3.0, rel=0.05)
    assert objections((result,)) == ""


def test_work_put_off_until_after_the_call_is_counted_and_flagged(timer):
    result = timed(timer, FakeProcess(0.001, hidden=0.009), FakeProcess(0.030))
    assert result.median == pytest.approx(0.010, rel=0.05)
    assert "own clock" in objections((result,))


@pytest.mark.parametrize("claim", [0.0, 1e-6, 1.0])
def test_a_lying_clock_in_the_sandbox_changes_no_time_and_is_flagged(timer, claim):
    result = timed(timer, FakeProcess(0.010, claims=claim), FakeProcess(0.030))
    assert result.median == pytest.approx(0.010, rel=0.03)
    assert "own clock" in objections((result,))


def test_clocks_that_part_once_on_a_busy_machine_are_compared_again(timer):
    class DisturbedAtFirst(FakeProcess):
        def call(self, before=lambda: None):
            self.hidden = 0.009 if len(self.seen) < timing.WARM_UP + timing.FEWEST_ROUNDS else 0.0
            return super().call()

    result = timed(timer, DisturbedAtFirst(0.010), FakeProcess(0.030))
    assert objections((result,)) == ""
    assert result.median == pytest.approx(0.010, rel=0.03)


def test_a_clock_that_wanders_buys_no_larger_difference(timer):
    class Wanders(FakeProcess):
        def call(self, before=lambda: None):
            self.claims = 0.0 if len(self.seen) % 2 else 0.006
            return super().call()

    result = timed(timer, Wanders(0.010), FakeProcess(0.030))
    assert "own clock" in objections((result,))


def test_a_time_below_the_roofline_is_not_ranked(timer):
    fast = PROBLEM.cost(SHAPE.dims).bytes / PEAK.bandwidth / 2
    result = timed(timer, FakeProcess(fast), FakeProcess(0.030))
    assert "below the roofline" in objections((result,))


def test_every_timed_call_has_new_inputs_and_both_sides_the_same(timer):
    ours, theirs = FakeProcess(0.010), FakeProcess(0.030)
    timed(timer, ours, theirs)
    assert len(set(ours.seen)) == len(ours.seen) >= timing.WARM_UP + timing.FEWEST_ROUNDS
    assert ours.seen == theirs.seen


def test_wrong_gradients_in_timed_calls_are_found(timer):
    with pytest.raises(SessionFailed) as failure:
        timed(timer, FakeProcess(0.010, change=torch.zeros_like), FakeProcess(0.030))
    assert failure.value.verdict is Verdict.WRONG_GRADIENT


def test_noisy_calls_are_repeated_more_often(timer, monkeypatch):
    class Noisy(FakeProcess):
        def call(self, before=lambda: None):
            self.seconds = 0.010 if len(self.seen) % 2 else 0.020
            return super().call()

    assert timed(timer, FakeProcess(0.010), FakeProcess(0.030)).calls == timing.FEWEST_ROUNDS
    both = timed(timer, Noisy(0.010), FakeProcess(0.030))
    assert both.calls == timing.FEWEST_ROUNDS + timing.MOST_ROUNDS


@pytest.mark.parametrize(
    "slow_calls", [range(CALLS // 2), range(CALLS // 2 + 2, CALLS), range(0, CALLS, 8)], ids=str
)
@pytest.mark.parametrize("shows_in", ["computing", "meeting"])
def test_rounds_on_a_disturbed_machine_do_not_count(impatient, slow_calls, shows_in):
    machine = Shared(slow_calls, shows_in)
    result = timed(impatient(machine), machine.process(0.010), machine.process(0.030))
    assert result.quartiles == pytest.approx((0.010, 0.010), rel=0.03)
    assert timing.FEWEST_ROUNDS <= result.calls < timing.MOST_ROUNDS
    assert not result.disturbed


@pytest.mark.parametrize("shows_in", ["computing", "meeting"])
def test_a_machine_that_is_never_calm_is_timed_all_the_same_and_the_report_says_so(
    impatient, shows_in
):
    machine = Shared(range(CALLS + 1), shows_in)
    result = timed(impatient(machine), machine.process(0.010), machine.process(0.030))
    assert result.calls == timing.FEWEST_ROUNDS
    assert result.median == pytest.approx(0.015, rel=0.03)
    assert result.slowdown == 1.5
    assert result.disturbed


def test_a_pair_of_processes_that_never_found_the_machine_calm_does_not_count(impatient):
    machine = Shared(range(CALLS, 2 * CALLS), "meeting")
    timer = impatient(machine)
    for _ in range(3):
        result = timed(timer, machine.process(0.010), machine.process(0.030))
    assert result.processes == 2
    assert result.median == pytest.approx(0.010, rel=0.03)
    assert not result.disturbed


def test_a_round_begins_when_the_threads_of_the_baseline_meet_as_quickly_as_they_can(timer):
    left = [1.0, *(3.0 for _ in range(20))]

    class Apart(FakeProcess):
        def seconds_to_meet(self):
            return left.pop(0) if left else 1.0

    result = timed(timer, FakeProcess(0.010), Apart(0.030))
    assert not left
    assert not result.disturbed


def test_a_call_begins_when_the_machine_is_calm(monkeypatch):
    monkeypatch.setattr(timing, "last_level_cache", lambda: 1024)
    left = [1.0, *(3.0 for _ in range(20))]
    timer = CpuTimer(PROBLEM, PEAK, Machine(lambda: left.pop(0) if left else 1.0))
    result = timed(timer, FakeProcess(0.010), FakeProcess(0.030))
    assert not left
    assert not result.disturbed


def test_several_processes_count_together(timer):
    for seconds in (0.010, 0.012, 0.030):
        result = timed(timer, FakeProcess(seconds), FakeProcess(0.024))
    assert result.processes == 3
    assert result.calls == 3 * timing.FEWEST_ROUNDS
    assert result.median == pytest.approx(0.012, rel=0.03)
    assert result.quartiles[1] == pytest.approx(0.030, rel=0.03)
    assert objections((result,)) == ""


def test_the_cache_of_this_machine_is_found_and_bounded():
    assert 1 << 10 < last_level_cache() <= 256 << 20


@pytest.mark.parametrize("problem", all_problems(), ids=lambda p: p.slug)
def test_an_honest_solution_agrees_with_plain_pytorch_by_a_margin_in_timed_calls(problem):
    solution = runpy.run_path(str(KERNELS / problem.slug / "pytorch.py"))
    backward = solution["backward"]
    if problem.pair:
        both = whole(problem, solution["forward"], backward)

        def backward(*values):
            return both(**dict(zip(problem.argument_names, values, strict=True)))

    arguments = problem.make_arguments(problem.benchmarks["cpu"][0], 3)
    pairs = zip(problem.call(backward, arguments), problem.baseline(**arguments), strict=True)
    shares = [strays(ours, theirs, near_zero_of(problem)) for ours, theirs in pairs]
    assert max(shares) < MOST_STRAYS / 2
