"""Nothing of a job survives whoever dies, and everything works for every user."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from sandbox.launched import LocalRunning
from sandbox.spec import Sandbox
from tests.sandbox.support import (
    PYTHON,
    REAL,
    as_nobody,
    python_for_everybody,
    python_job,
    working,
)

pytestmark = pytest.mark.sandbox
ROOT = Path(__file__).parents[2]

JUDGE = """
import json, sys, time
import psutil
from sandbox.{module} import {kind}
from sandbox.spec import Job
program = '''
import os, sys, time
for _ in range(2):
    if os.fork() == 0:
        os.setsid()
        time.sleep(600)
sys.stdout.write("up")
sys.stdout.flush()
time.sleep(600)
'''
running = {kind}().start(Job(("{python}", "-S", "-c", program)))
running.read(2, time.monotonic() + 20)
tree = running.tree()
print(json.dumps([psutil.Process(tree[0]).ppid(), *tree]), flush=True)
time.sleep(600)
"""


@pytest.fixture(params=sorted(REAL))
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """One whose jobs are below this process; what holds for containers is in `test_docker.py`."""
    yield from working(request)


@pytest.fixture
def judge(sandbox: Sandbox):
    source = JUDGE.format(module=sandbox.name, kind=REAL[sandbox.name].__name__, python=PYTHON)
    process = subprocess.Popen(
        [sys.executable, "-c", source], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    yield process
    process.kill()
    process.wait()
    assert process.stdout
    process.stdout.close()


def tree_of(judge: subprocess.Popen[str]) -> list[psutil.Process]:
    assert judge.stdout
    found = [psutil.Process(pid) for pid in json.loads(judge.stdout.readline())]
    assert len(found) >= 5  # launcher, process 1, the job and its two children
    return found


def all_gone(processes: list[psutil.Process]) -> bool:
    _, alive = psutil.wait_procs(processes, timeout=10)
    return not [process for process in alive if process.status() != psutil.STATUS_ZOMBIE]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_when_the_judge_dies_its_jobs_die(judge: subprocess.Popen[str], number: signal.Signals):
    tree = tree_of(judge)
    judge.send_signal(number)
    assert all_gone(tree)


@pytest.mark.parametrize("position", [0, 1])
def test_when_a_process_in_between_is_killed_the_job_dies(
    judge: subprocess.Popen[str], position: int
):
    tree = tree_of(judge)
    tree[position].kill()
    assert all_gone(tree[1:])


@pytest.mark.parametrize("name", sorted(REAL))
def test_an_ordinary_user_can_isolate_too(name: str):
    folder = Path(f"/tmp/backpass-user-{os.getpid()}")
    folder.mkdir(mode=0o755)
    try:
        shutil.copytree(ROOT / "sandbox", folder / "sandbox")
        shutil.copytree(Path(psutil.__file__).parent, folder / "psutil")
        kind = REAL[name].__name__
        source = (
            f"from sandbox.{name} import {kind}; from sandbox.choose import why_not; "
            f"print(why_not({kind}()))"
        )
        result = subprocess.run(
            [*as_nobody(), python_for_everybody(), "-B", "-c", source],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (result.stdout, result.stderr) == ("None\n", "")
    finally:
        shutil.rmtree(folder)


def test_killing_takes_little_time_whatever_the_job_does(sandbox: Sandbox):
    source = """
import os, signal, time
for number in range(1, 32):
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_IGN)
while True:
    try:
        os.fork()
    except OSError:
        time.sleep(0.01)
"""
    with sandbox.start(python_job(source)) as running:
        assert isinstance(running, LocalRunning)
        time.sleep(0.5)
        tree = [psutil.Process(pid) for pid in running.tree()]
        assert running.kill().exit_code is None
    assert all_gone(tree)
