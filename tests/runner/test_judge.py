"""Whole judgements: real sandbox, real interpreter, real files."""

from pathlib import Path

import pytest

from problems import Language, all_problems, get_problem
from runner.hardware import HARDWARE, hardware_for
from runner.judge import Request, judge
from runner.pool import WarmPool
from sandbox.choose import best_sandbox
from wire.messages import Mode, Phase
from wire.verdict import Verdict

ROOT = Path(__file__).parents[2]
REFERENCES = sorted(ROOT.glob("kernels/*/*.py"))
WRONG = sorted(ROOT.glob("tests/wrong/*/*.py"))
PUBLIC: Mode = "run"

pytestmark = pytest.mark.sandbox


@pytest.fixture(scope="module")
def sessions():
    with WarmPool(best_sandbox(), HARDWARE.values()) as pool:
        yield pool


def judged(sessions, slug, language, source, mode=PUBLIC, progress=lambda *_: None):
    request = Request(get_problem(slug), language, hardware_for(language), mode, source)
    return judge(request, sessions, progress)


@pytest.mark.parametrize("path", REFERENCES, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_every_reference_solution_is_accepted(sessions, path):
    language = Language(path.stem.split("_")[0])
    mode = "submit" if language is Language.TRITON else PUBLIC
    report = judged(sessions, path.parent.name, language, path.read_text(), mode)
    assert report.verdict is Verdict.ACCEPTED, report.headline
    assert len(report.cases) == report.cases_total > 0
    assert all(g.passed for c in report.cases for g in c.gradients)


@pytest.mark.parametrize("path", WRONG, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_every_wrong_solution_gets_the_verdict_it_deserves(sessions, path):
    source = path.read_text()
    expected = source.splitlines()[0].removeprefix("# expect:").strip()
    language = Language.TRITON if "import triton" in source else Language.PYTORCH
    report = judged(sessions, path.parent.name, language, source, "submit")
    assert report.verdict.value == expected, report.headline


@pytest.mark.parametrize("language", Language, ids=str)
@pytest.mark.parametrize("problem", all_problems(), ids=lambda p: p.slug)
def test_every_starter_runs_and_is_told_which_gradient_is_wrong(sessions, problem, language):
    report = judged(sessions, problem.slug, language, problem.starter(language))
    assert report.verdict is Verdict.WRONG_GRADIENT, report.headline
    wrong = {g.name for c in report.cases for g in c.gradients if not g.passed}
    assert any(name in report.headline for name in wrong)


def test_a_submission_on_the_cpu_is_timed_and_scored(sessions):
    seen = []
    path = ROOT / "kernels/rms_norm/pytorch.py"
    report = judged(
        sessions,
        "rms_norm",
        Language.PYTORCH,
        path.read_text(),
        "submit",
        lambda phase, done, total: seen.append((phase, done, total)),
    )
    assert report.verdict is Verdict.ACCEPTED, report.headline
    benchmarks = get_problem("rms_norm").benchmarks["cpu"]
    assert [t.name for t in report.timings] == [b.name for b in benchmarks]
    assert report.peak is not None
    for timing in report.timings:
        assert 0 < timing.quartiles[0] <= timing.median <= timing.quartiles[1]
        assert timing.efficiency == pytest.approx(timing.roofline / timing.median)
    assert (report.score is not None) == report.ranked
    assert bool(report.not_ranked_because) != report.ranked
    phases = [phase for phase, _, _ in seen]
    assert phases == sorted(phases, key=[Phase.COMPILING, Phase.CASES, Phase.TIMING].index)
    counted = [(done, total) for phase, done, total in seen if phase is Phase.CASES]
    assert counted == [(i + 1, len(counted)) for i in range(len(counted))]


def test_hidden_cases_show_no_seed_and_draw_new_values(sessions):
    source = get_problem("relu_squared").starter(Language.PYTORCH)
    one, two = (
        judged(sessions, "relu_squared", Language.PYTORCH, source, "submit") for _ in range(2)
    )
    hidden = [c for c in one.cases if not c.public]
    assert hidden
    assert all(c.seed is None for c in hidden)
    assert all(c.seed is not None for c in one.cases if c.public)
    pairs = [(a, b) for a, b in zip(one.cases, two.cases, strict=True) if not a.passed]
    firsts = [(a.public, _first(a) == _first(b)) for a, b in pairs if _first(a)]
    assert all(same for public, same in firsts if public)
    assert any(not same for public, same in firsts if not public)


def _first(case):
    return next((g.first_wrong for g in case.gradients if g.first_wrong), None)


BROKEN = {
    "a syntax error": ("def backward(grad_output, x)\n    return x\n", "compile_error", 1),
    "an error at import": ("import torch\n\nraise ValueError('no')\n", "compile_error", 3),
    "a missing module": ("import torch\nimport nonsense\n", "compile_error", 2),
    "no backward": ("import torch\n", "compile_error", None),
    "too few arguments": ("def backward(x):\n    return x\n", "compile_error", None),
    "exit at import": ("import sys\nsys.exit(0)\n", "compile_error", 2),
    "an exception": (
        "import torch\n\n\ndef backward(grad_output, x):\n    return x.nonsense\n",
        "runtime_error",
        5,
    ),
    "exit in the call": (
        "import sys\n\n\ndef backward(grad_output, x):\n    sys.exit(0)\n",
        "runtime_error",
        5,
    ),
    "the process ending itself": (
        "import os\n\n\ndef backward(grad_output, x):\n    os._exit(0)\n",
        "runtime_error",
        None,
    ),
    "a segmentation fault": (
        "import ctypes\n\n\ndef backward(grad_output, x):\n    ctypes.string_at(8)\n",
        "runtime_error",
        None,
    ),
    "too much memory": (
        "import torch\n\n\ndef backward(grad_output, x):\n    return torch.ones(1 << 38)\n",
        "out_of_memory",
        5,
    ),
    "nothing returned": ("def backward(grad_output, x):\n    pass\n", "invalid_output", None),
    "a nonsense return": (
        "def backward(grad_output, x):\n    return 'dx'\n",
        "invalid_output",
        None,
    ),
    "an empty list": ("def backward(grad_output, x):\n    return []\n", "invalid_output", None),
    "two gradients": (
        "def backward(grad_output, x):\n    return x * 1, x * 1\n",
        "invalid_output",
        None,
    ),
    "the wrong dtype": (
        "def backward(grad_output, x):\n    return x.float()\n",
        "invalid_output",
        None,
    ),
    "an argument itself": (
        "def backward(grad_output, x):\n    return grad_output\n",
        "invalid_output",
        None,
    ),
    "changed arguments": (
        "def backward(grad_output, x):\n"
        "    y = 2 * grad_output * x.relu()\n    x.zero_()\n    return y\n",
        "invalid_output",
        None,
    ),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_broken_submissions_are_told_what_is_broken_and_where(sessions, kind):
    source, verdict, line = BROKEN[kind]
    report = judged(sessions, "relu_squared", Language.PYTORCH, source)
    assert report.verdict.value == verdict, report.headline
    assert (report.error.line if report.error else None) == line
    told = report.headline + (report.error.traceback if report.error else "")
    for ours in (str(ROOT), "/job", "/tmp", "harness", "site-packages"):
        assert ours not in told


def test_an_error_inside_a_triton_kernel_names_the_kernels_line(sessions):
    source = (
        "import torch\nimport triton\nimport triton.language as tl\n\n\n"
        "@triton.jit\ndef kernel(x_ptr, SIZE: tl.constexpr):\n"
        "    at = tl.arange(0, SIZE)\n"
        "    tl.store(x_ptr + at, tl.nonsense(at))\n\n\n"
        "def backward(grad_output, x):\n"
        "    dx = torch.empty_like(x)\n"
        "    kernel[(1,)](dx, SIZE=16)\n"
        "    return dx\n"
    )
    report = judged(sessions, "relu_squared", Language.TRITON, source)
    assert report.verdict is Verdict.RUNTIME_ERROR
    assert report.error.line == 9
    assert "tl.nonsense" in report.error.traceback
    assert "kernel[(1,)]" in report.error.traceback


RACE = """import torch
import triton
import triton.language as tl


@triton.jit
def kernel(dy_ptr, x_ptr, dx_ptr, count_ptr, M, N, dy_row, dy_col, x_row, x_col, B: tl.constexpr):
    row = tl.program_id(0)
    for start in range(0, N, B):
        cols = start + tl.arange(0, B)
        dy = tl.load(dy_ptr + row * dy_row + cols * dy_col, cols < N).to(tl.float32)
        x = tl.load(x_ptr + row * x_row + cols * x_col, cols < N).to(tl.float32)
        dx = 2 * dy * tl.maximum(x, 0.0)
        tl.store(dx_ptr + row * N + cols, dx, cols < N)
    tl.store(count_ptr, tl.load(count_ptr) + 1)


def backward(grad_output, x):
    M, N = x.shape
    dx = torch.empty(M, N, dtype=x.dtype)
    count = torch.zeros(1, dtype=torch.int32)
    strides = (*grad_output.stride(), *x.stride())
    kernel[(M,)](grad_output, x, dx, count, M, N, *strides, B=256)
    return dx
"""


def test_a_race_that_the_interpreter_forgives_is_not_accepted(sessions):
    report = judged(sessions, "relu_squared", Language.TRITON, RACE)
    assert all(c.passed for c in report.cases)
    assert report.verdict is Verdict.MEMORY_FAULT
    assert report.findings[0].kind == "race"
    assert report.error.line == report.findings[0].line == 15
    assert "a GPU would not forgive" in report.headline
    assert report.to_json()["findings"][0]["kind"] == "race"


def test_the_same_kernel_without_the_race_is_accepted(sessions):
    fixed = RACE.replace("    tl.store(count_ptr, tl.load(count_ptr) + 1)\n", "")
    report = judged(sessions, "relu_squared", Language.TRITON, fixed)
    assert report.verdict is Verdict.ACCEPTED, report.headline
    assert report.findings == ()


def test_a_crash_far_outside_of_a_tensor_says_where_it_reached(sessions):
    crash = RACE.replace("tl.load(count_ptr) + 1", "tl.load(count_ptr + (1 << 44))")
    report = judged(sessions, "relu_squared", Language.TRITON, crash)
    assert report.verdict is Verdict.RUNTIME_ERROR
    assert "signal 11" in report.headline
    assert {(f.kind, f.line, f.tensor) for f in report.findings} >= {
        ("out_of_bounds", 15, "count_ptr")
    }


def test_a_call_that_never_ends_is_stopped(sessions, monkeypatch):
    from dataclasses import replace

    source = "def backward(grad_output, x):\n    while True:\n        pass\n"
    problem, hardware = get_problem("relu_squared"), hardware_for(Language.PYTORCH)
    quick = replace(hardware, call_seconds=1.0)
    report = judge(
        Request(problem, Language.PYTORCH, quick, PUBLIC, source), sessions, lambda *_: None
    )
    assert report.verdict is Verdict.TIMED_OUT
    assert "1 s" in report.headline


def test_what_a_submission_prints_is_kept_and_cut(sessions):
    source = (
        "print('hello from import')\n\n\ndef backward(grad_output, x):\n"
        "    print('x' * 10_000_000)\n    return 2 * grad_output * x.relu()\n"
    )
    report = judged(sessions, "relu_squared", Language.PYTORCH, source)
    assert report.verdict is Verdict.ACCEPTED, report.headline
    assert report.output.startswith("hello from import")
    assert len(report.output) < 200_000
