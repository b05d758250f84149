"""Every program in programs/ is judged as a submission, and must end as its header says."""

from __future__ import annotations

import ast
import json
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import pytest
import torch

from problems import Language, get_problem
from problems.spec import Benchmark
from runner.hardware import HARDWARE, hardware_for
from runner.judge import Request, judge
from runner.pool import WarmPool
from sandbox.choose import best_sandbox
from wire.verdict import Report, Timing, Verdict

pytestmark = pytest.mark.sandbox

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
REFUSED = "refused"
HONEST_TIME = "honest time"
# One shape, large enough to tell the work from its overhead, small enough to be timed many times.
SHAPE = {"M": 128, "N": 21504}
# A machine shared with others is at most this much slower or faster from one judgement to the next.
DRIFT = 3.0
# Who gains by a trick gains by it again; a machine that others disturb does not look so every time.
ATTEMPTS = 3


@dataclass(frozen=True)
class Attack:
    """A program and what its header says about it.

    `must` is a verdict, "refused" (any but accepted), or "honest time": it may be accepted, and then
    either is not ranked or shows the time that its work takes in the open, which the program named by
    `work` does.
    """

    path: Path

    @cached_property
    def source(self) -> str:
        return self.path.read_text()

    @cached_property
    def header(self) -> dict[str, str]:
        lines = [line for line in self.source.splitlines() if line.startswith("# ")]
        head = lines[: next(i for i, s in enumerate(self.source.splitlines()) if s[:3] == '"""')]
        return dict(line.removeprefix("# ").split(": ", 1) for line in head)

    @property
    def must(self) -> str:
        return self.header["must"]

    @property
    def work(self) -> str:
        return self.header["work"]

    @property
    def language(self) -> Language:
        return Language(self.header["language"])

    def __str__(self) -> str:
        return f"{self.path.parent.name}/{self.path.stem}"


ALL = [Attack(path) for path in sorted((HERE / "programs").glob("*/*.py"))]
NEED_A_GPU = [a for a in ALL if a.header.get("needs") == "gpu"]
RUN_HERE = [a for a in ALL if a not in NEED_A_GPU or torch.cuda.is_available()]
TIMED = [a for a in RUN_HERE if a.must == HONEST_TIME]


@pytest.fixture(scope="module")
def sessions() -> Iterator[WarmPool]:
    with WarmPool(best_sandbox(), HARDWARE.values()) as pool:
        yield pool


def judged(sessions: WarmPool, attack: Attack) -> Report:
    """The report on the last of as many judgements as the attack asks for."""
    hardware = replace(hardware_for(attack.language), processes=1)
    if "seconds" in attack.header:
        hardware = replace(hardware, call_seconds=float(attack.header["seconds"]))
    problem = get_problem(attack.header["problem"])
    if problem.slug == "relu_squared":
        problem = replace(problem, benchmarks={"cpu": (Benchmark("one", SHAPE, "no model"),)})
    request = Request(problem, attack.language, hardware, "submit", attack.source)
    for _ in range(int(attack.header.get("runs", "1"))):
        report = judge(request, sessions, lambda *_: None)
    return report


@pytest.fixture(scope="module")
def in_the_open(sessions: WarmPool) -> dict[str, Report]:
    """How long the work that tricks hide takes when nobody hides it."""
    reports = {}
    for name in ("honest", "slow"):
        reports[name] = judged(sessions, Attack(HERE / f"{name}.py"))
        assert reports[name].verdict is Verdict.ACCEPTED, reports[name].headline
        assert reports[name].timings
    return reports


@pytest.mark.parametrize("attack", [a for a in RUN_HERE if a not in TIMED], ids=str)
def test_a_trick_is_refused(sessions: WarmPool, attack: Attack):
    report = judged(sessions, attack)
    if attack.must == REFUSED:
        assert report.verdict is not Verdict.ACCEPTED, report.headline
        assert report.verdict is not Verdict.JUDGE_FAILURE, report.headline
    else:
        assert report.verdict.value == attack.must, report.headline
    assert not report.ranked
    assert_clean(report)


@pytest.mark.parametrize("attack", TIMED, ids=str)
def test_a_trick_with_time_gains_nothing(
    sessions: WarmPool, in_the_open: dict[str, Report], attack: Attack
):
    for _ in range(ATTEMPTS):
        report = judged(sessions, attack)
        assert report.verdict is not Verdict.JUDGE_FAILURE
        assert_clean(report)
        if not suspicious(report, in_the_open[attack.work]):
            return
    pytest.fail(f"{attack} gains in each of {ATTEMPTS} judgements: {report.timings}")


def suspicious(report: Report, usual: Report) -> bool:
    """Whether a ranked time is one that the work does not take, or the baseline was made slow."""
    pairs = list(zip(report.timings, usual.timings, strict=True)) if report.ranked else []
    return any(gained(a, b) or a.baseline > 2 * DRIFT * b.baseline for a, b in pairs)


def gained(timing: Timing, usual: Timing) -> bool:
    """Whether the work looks much faster than it is, both by the clock and beside the baseline:
    either alone moves when others use the machine."""
    by_the_clock = timing.median < usual.median / DRIFT
    return by_the_clock and timing.speedup > DRIFT * usual.speedup


def assert_clean(report: Report) -> None:
    """What the report says can be stored and shown."""
    text = json.dumps(report.to_json(), ensure_ascii=False)
    text.encode()
    strings = list(_strings(report.to_json()))
    kinds = {unicodedata.category(letter) for s in strings for letter in s} - {"Cn"}
    letters = {letter for s in strings for letter in s}
    assert not kinds & {"Cs", "Cf"}
    assert not {c for c in letters if unicodedata.category(c) == "Cc"} - {"\n", "\t"}


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


def test_there_are_enough_tricks_and_each_says_what_it_is():
    assert len(ALL) - len(NEED_A_GPU) >= 35
    verdicts = {v.value for v in Verdict} - {"accepted", "judge_failure"}
    for attack in ALL:
        documentation = ast.get_docstring(ast.parse(attack.source)) or ""
        for part in ("Strategy: ", "Surface: ", "Stopped by: ", "Listed as: "):
            assert part in documentation, attack
        assert attack.must in {REFUSED, HONEST_TIME, *verdicts}, attack
        assert (attack.header.get("work") in {"honest", "slow"}) == (attack.must == HONEST_TIME)
        get_problem(attack.header["problem"])


def test_the_tricks_that_only_a_gpu_shows_are_known():
    assert {a.path.stem for a in NEED_A_GPU} == {
        "events_patched",
        "failed_launch",
        "graph_replay",
        "persisting_cache",
        "side_stream",
        "static_device_buffer",
    }
    assert (NEED_A_GPU[0] in RUN_HERE) == torch.cuda.is_available()
