from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sandbox import choose
from sandbox.spec import Sandbox, SandboxUnavailable
from tests.sandbox.support import REAL, python_job, run

pytestmark = pytest.mark.sandbox
ROOT = Path(__file__).parents[2]


def test_the_chosen_sandbox_isolates():
    chosen = choose.best_sandbox()
    assert chosen.name in REAL
    assert run(chosen, python_job("import os; print(os.getuid())")).output == "1000\n"


def test_namespaces_are_chosen_without_bubblewrap(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "/nowhere")
    assert choose.best_sandbox().name == "namespaces"


def test_the_operator_is_told_what_to_do_where_nothing_isolates(monkeypatch: pytest.MonkeyPatch):
    def refuse(sandbox: Sandbox) -> str:
        return f"{sandbox.name} was refused"

    monkeypatch.setattr(choose, "why_not", refuse)
    with pytest.raises(SandboxUnavailable, match="namespaces was refused") as raised:
        choose.best_sandbox()
    assert choose.UNSAFE_FLAG in str(raised.value)
    unsafe = choose.best_sandbox(unsafe=True)
    assert unsafe.name == "none"
    assert "NOT ISOLATED" in unsafe.level


def test_the_command_names_the_sandbox_of_this_machine():
    result = subprocess.run(
        [sys.executable, "-m", "sandbox"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0
    assert result.stdout.partition(":")[0] in REAL


def test_the_command_says_what_a_kernel_without_user_namespaces_forbids():
    forbid = "echo 0 > /proc/sys/user/max_user_namespaces && exec"
    result = subprocess.run(
        ["unshare", "-Ur", "sh", "-c", f"{forbid} {sys.executable} -m sandbox"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 1, result.stderr
    assert "sysctl user.max_user_namespaces" in result.stdout
    assert choose.UNSAFE_FLAG in result.stdout
