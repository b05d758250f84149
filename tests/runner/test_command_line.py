"""``python -m runner judge``: exit codes, JSON, and what people see."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from runner.__main__ import JUDGE_FAILED, NOT_PASSED, PASSED, USAGE, imports_triton, main
from sandbox.spec import SandboxUnavailable

ROOT = Path(__file__).parents[2]
SOLUTION = ROOT / "kernels/relu_squared/pytorch.py"
WRONG = "def backward(grad_output, x):\n    return grad_output * x.relu()\n"

pytestmark = pytest.mark.sandbox


def run(*arguments, command="judge"):
    return subprocess.run(
        [sys.executable, "-m", "runner", command, *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )


def test_a_right_file_passes_and_the_json_has_everything():
    done = run(SOLUTION, "--problem", "relu-squared", "--hardware", "cpu", "--json")
    assert done.returncode == PASSED, done.stderr
    report = json.loads(done.stdout)
    assert report["verdict"] == "accepted"
    assert report["hardware"] == "cpu"
    assert len(report["timings"]) == 2
    for case in report["cases"]:
        assert case["gradients"]
        for gradient in case["gradients"]:
            assert gradient["error"] <= gradient["allowed"] or gradient["error"] == 0


def test_a_wrong_file_does_not_pass_and_is_shown_where_it_is_wrong(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(WRONG)
    done = run(path, "--problem", "relu_squared")
    assert done.returncode == NOT_PASSED
    assert done.stdout.startswith("WRONG GRADIENT")
    assert "dx" in done.stdout
    assert "expected" in done.stdout


def test_a_look_inside_a_triton_file():
    path = ROOT / "kernels/relu_squared/triton.py"
    done = run(path, "--problem", "relu_squared", "--target", "sm_90", "--json", command="inspect")
    assert done.returncode == PASSED, done.stderr
    (kernel,) = json.loads(done.stdout)["kernels"]
    assert kernel["target"] == "sm_90"
    assert "LDG.E.128" in kernel["sass"]["text"]


def test_a_file_without_triton_has_nothing_to_look_into():
    done = run(SOLUTION, "--problem", "relu_squared", command="inspect")
    assert done.returncode == USAGE
    assert "does not import triton" in done.stderr


def test_triton_files_are_recognised_and_interpreted():
    path = ROOT / "kernels/relu_squared/triton.py"
    done = run(path, "--problem", "relu_squared", "--public-only", "--json")
    assert done.returncode == PASSED, done.stderr
    assert json.loads(done.stdout)["hardware"] == "interpreter"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((SOLUTION, "--problem", "nonsense"), "relu_squared"),
        (("/nowhere.py", "--problem", "rms_norm"), "cannot read"),
        ((SOLUTION,), "--problem"),
        ((SOLUTION, "--problem", "rms_norm", "--hardware", "h9000"), "interpreter"),
        (
            (SOLUTION, "--problem", "rms_norm", "--hardware", "cpu", "--language", "triton"),
            "takes PyTorch",
        ),
    ],
)
def test_wrong_usage_says_what_is_possible(arguments, told):
    done = run(*arguments)
    assert done.returncode == USAGE
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_without_isolation_the_judge_refuses(monkeypatch, capsys):
    def nothing(*, unsafe):
        assert not unsafe
        raise SandboxUnavailable("user namespaces are forbidden")

    monkeypatch.setattr("runner.__main__.best_sandbox", nothing)
    assert main(["judge", str(SOLUTION), "--problem", "relu_squared"]) == JUDGE_FAILED
    assert "user namespaces are forbidden" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import triton", True),
        ("import triton.language as tl", True),
        ("from triton import language", True),
        ("def backward():\n    import triton\n", True),
        ("import torch  # not triton", False),
        ("import tritonic", False),
        ("def (", False),
        ("\x00", False),
    ],
)
def test_the_language_is_read_from_the_imports(source, expected):
    assert imports_triton(source) is expected
