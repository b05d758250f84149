"""The judge itself on containers: what passes elsewhere passes, what is wrong or forged does not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from problems import Language, get_problem
from runner.hardware import hardware_for
from runner.judge import Request, judge
from runner.pool import ColdSessions
from sandbox.docker import DockerSandbox, Settings
from tests.sandbox.support import no_container_left
from wire.messages import Mode
from wire.verdict import Report, Verdict

pytestmark = pytest.mark.sandbox
ROOT = Path(__file__).parents[2]
PYTORCH = (ROOT / "kernels/relu_squared/pytorch.py").read_text()
TRITON = (ROOT / "kernels/relu_squared/triton.py").read_text()
FORGER = ROOT / "tests/attacks/judge/programs/protocol/forged_reply_and_exit.py"


@pytest.fixture
def sessions(docker_settings: Settings) -> Iterator[ColdSessions]:
    with no_container_left(docker_settings), DockerSandbox(docker_settings) as sandbox:
        yield ColdSessions(sandbox)


def judged(sessions: ColdSessions, language: Language, source: str, mode: Mode = "run") -> Report:
    problem = get_problem("relu_squared")
    # Timed on a small shape: what is tried is that timing works, with its pauses between calls.
    [first, *_] = problem.benchmarks["cpu"]
    small = replace(first, dims=problem.cases[0].dims)
    problem = replace(problem, benchmarks={"cpu": (small,)})
    request = Request(problem, language, hardware_for(language), mode, source)
    return judge(request, sessions, lambda *_: None)


def test_a_right_kernel_is_accepted_timed_and_scored(sessions: ColdSessions):
    report = judged(sessions, Language.PYTORCH, PYTORCH, "submit")
    assert report.verdict is Verdict.ACCEPTED, report.headline
    [timing] = report.timings
    assert 0 < timing.quartiles[0] <= timing.median <= timing.quartiles[1]


def test_a_right_kernel_in_triton_is_accepted(sessions: ColdSessions):
    report = judged(sessions, Language.TRITON, TRITON)
    assert report.verdict is Verdict.ACCEPTED, report.headline


def test_a_wrong_kernel_is_told_which_gradient_is_wrong(sessions: ColdSessions):
    source = get_problem("relu_squared").starter(Language.PYTORCH)
    report = judged(sessions, Language.PYTORCH, source)
    assert report.verdict is Verdict.WRONG_GRADIENT, report.headline


def test_a_forged_result_and_an_early_exit_are_not_believed(sessions: ColdSessions):
    report = judged(sessions, Language.PYTORCH, FORGER.read_text())
    assert report.verdict not in (Verdict.ACCEPTED, Verdict.JUDGE_FAILURE), report.headline
