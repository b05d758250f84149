"""The look inside after the verdict: it never delays, changes or repeats a judgement."""

from __future__ import annotations

from typing import Any

import pytest
from celery.exceptions import SoftTimeLimitExceeded
from kombu.exceptions import OperationalError

from problems import Problem, get_problem
from runner import tasks
from runner.failures import HarnessBroken
from runner.inspecting import Inspector
from sandbox.choose import best_sandbox
from sandbox.spec import Sandbox
from wire.inspection import CompiledKernel, Inspection
from wire.messages import EVENT_TASK, INSPECTION_TASK, JUDGE_TASK, JobMessage
from wire.packing import from_text, unpack
from wire.verdict import Report, Verdict

PROBLEM = get_problem("relu_squared")
SOURCE = """\
import torch, triton
import triton.language as tl

@triton.jit
def product(x, g, y, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at) * tl.load(g + at))

def backward(grad_output, x):
    y = torch.empty_like(x)
    product[(x.numel() // 1024,)](x, grad_output, y, BLOCK=1024)
    return y
"""
KERNEL = CompiledKernel("product", "sm_90", 5, (1,), 1, {}, {}, {})


class Looks:
    """Stands for the compiler; counts how often it is asked."""

    def __init__(self, result: Inspection | Exception) -> None:
        self.result = result
        self.calls = 0
        self.every_shape: bool | None = None

    def __call__(
        self, problem: Problem, source: str, sandbox: Sandbox, *, every_shape: bool
    ) -> Inspection:
        self.calls += 1
        self.every_shape = every_shape
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


def found(*kernels: CompiledKernel, remarks: tuple[str, ...] = ()) -> Inspection:
    return Inspection(PROBLEM.slug, "shape", {}, ("sm_90",), kernels, remarks=remarks)


def test_a_real_submission_is_compiled_in_a_sandbox_for_every_target() -> None:
    seen = unpack(Inspector(best_sandbox()).packed(PROBLEM, SOURCE))
    assert seen.remarks == ()
    assert {kernel.target for kernel in seen.kernels} == set(seen.targets)
    for kernel in seen.kernels:
        assert kernel.gpu
        assert kernel.registers > 0
        assert list(kernel.stages) == ["ttir", "ttgir", "llir", "ptx", "sass"]
        assert all(7 in stage.lines for stage in kernel.stages.values())


def test_the_same_source_is_compiled_once_and_another_anew() -> None:
    looks = Looks(found(KERNEL))
    inspector = Inspector(best_sandbox(), looks, most=2)
    assert inspector.packed(PROBLEM, "a") == inspector.packed(PROBLEM, "a")
    assert looks.calls == 1
    inspector.packed(get_problem("rms_norm"), "a")
    inspector.packed(PROBLEM, "b")
    assert looks.calls == 3
    inspector.packed(PROBLEM, "a")  # the oldest was forgotten
    assert looks.calls == 4


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (HarnessBroken("it did not start"), "HarnessBroken"),
        (SoftTimeLimitExceeded(), "no time left"),
        (RuntimeError("a fault of ours"), "RuntimeError"),
    ],
)
def test_a_failure_is_told_and_not_remembered(error: Exception, told: str) -> None:
    looks = Looks(error)
    inspector = Inspector(best_sandbox(), looks)
    for _ in range(2):
        (remark,) = unpack(inspector.packed(PROBLEM, "a")).remarks
        assert told in remark
    assert looks.calls == 2


def test_what_did_not_compile_is_tried_again() -> None:
    looks = Looks(found(remarks=("The kernels could not be compiled.",)))
    inspector = Inspector(best_sandbox(), looks)
    inspector.packed(PROBLEM, "a")
    inspector.packed(PROBLEM, "a")
    assert looks.calls == 2


def judged(
    monkeypatch: pytest.MonkeyPatch,
    verdict: Verdict,
    language: str,
    send_task: Any,
    *,
    ranked: bool = False,
) -> Looks:
    """Run the runner's task with a judge that says `verdict` at once; the compiler's stand-in."""

    def judge(job: JobMessage, _reporter: Any) -> Report:
        told = (verdict, "Said.", job.problem, 1, job.hardware, job.language, job.mode)
        return Report(*told, ranked=ranked)

    monkeypatch.setattr(tasks, "_judged", judge)
    monkeypatch.setattr(tasks.app, "send_task", send_task)
    looks = Looks(found(KERNEL))
    inspector = Inspector(best_sandbox(), looks)
    monkeypatch.setattr(tasks, "inspector", lambda: inspector)
    hardware = {"triton": "interpreter", "pytorch": "cpu"}[language]
    job = JobMessage("some-attempt", PROBLEM.slug, language, hardware, "run", "source")
    task = tasks.app.tasks[JUDGE_TASK]
    task.push_request(delivery_info={})
    try:
        task.run(job.to_json())
    finally:
        task.pop_request()
    return looks


@pytest.mark.parametrize("ranked", [True, False])
def test_every_shape_is_modelled_of_what_a_board_ranks(
    monkeypatch: pytest.MonkeyPatch, ranked: bool
) -> None:
    looks = judged(monkeypatch, Verdict.ACCEPTED, "triton", lambda name, **_: None, ranked=ranked)
    assert looks.every_shape is ranked


def test_a_look_at_one_shape_does_not_stand_for_one_at_all() -> None:
    looks = Looks(found(KERNEL))
    inspector = Inspector(best_sandbox(), looks)
    inspector.packed(PROBLEM, "a")
    inspector.packed(PROBLEM, "a", every_shape=True)
    assert looks.calls == 2


def test_it_is_sent_after_the_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[str, Any]] = []

    def send_task(name: str, args: list[Any], **_: Any) -> None:
        sent.append((name, args[0]))

    judged(monkeypatch, Verdict.ACCEPTED, "triton", send_task)
    names = [(name, message.get("kind")) for name, message in sent if message.get("kind") != "beat"]
    assert names == [(EVENT_TASK, "started"), (EVENT_TASK, "verdict"), (INSPECTION_TASK, None)]
    message = sent[-1][1]
    assert message["attempt"] == "some-attempt"
    assert unpack(from_text(message["packed"])) == found(KERNEL)


@pytest.mark.parametrize(
    ("verdict", "language"),
    [
        (Verdict.COMPILE_ERROR, "triton"),
        (Verdict.JUDGE_FAILURE, "triton"),
        (Verdict.ACCEPTED, "pytorch"),
    ],
)
def test_where_there_is_nothing_to_see_nothing_is_sent(
    monkeypatch: pytest.MonkeyPatch, verdict: Verdict, language: str
) -> None:
    sent: list[str] = []
    judged(monkeypatch, verdict, language, lambda name, args, **_: sent.append(name))
    assert set(sent) == {EVENT_TASK}


def test_a_broker_that_goes_away_after_the_verdict_fails_no_job(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried: list[str] = []

    def send_task(name: str, args: list[Any], **_: Any) -> None:
        if name == INSPECTION_TASK:
            tried.append(name)
            raise OperationalError("no route to host")

    monkeypatch.setattr("time.sleep", lambda _seconds: None)
    judged(monkeypatch, Verdict.ACCEPTED, "triton", send_task)
    assert len(tried) == tasks.INSPECTION_ATTEMPTS
