"""Every program in programs/ is run in every real sandbox and must fail at what it tries."""

from __future__ import annotations

import ast
import os
import re
import socket
import subprocess
import time
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from sandbox.spec import Isolation, Job, JobEnded, Sandbox
from tests.sandbox.support import SMALL, Outcome, as_nobody, python_job, run

pytestmark = pytest.mark.sandbox

HERE = Path(__file__).parent
PROGRAMS = sorted((HERE / "programs").glob("*.py"))
HELPER = (HERE / "attempts.py").read_bytes()
MEGABYTES = 1000


@dataclass(frozen=True)
class Host:
    """Things outside that an attack is told of and must not reach."""

    environment: dict[str, str]
    listeners: tuple[socket.socket, ...]
    file: Path
    neighbour: subprocess.Popen[bytes]  # of the user that the job is outside

    def untouched(self) -> bool:
        for listener in self.listeners:
            try:
                listener.accept()
            except BlockingIOError:
                continue
            return False
        return self.file.read_text() == "secret" and self.neighbour.poll() is None


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    monkeypatch.setenv("HOST_SECRET", "secret")
    file = tmp_path / "secret"
    file.write_text("secret")
    file.chmod(0o644)
    name = f"backpass-test-{os.getpid()}"
    with (
        subprocess.Popen([*as_nobody(), "sleep", "600"]) as neighbour,
        socket.create_server(("127.0.0.1", 0)) as network,
        socket.socket(socket.AF_UNIX) as abstract,
    ):
        abstract.bind("\0" + name)
        abstract.listen()
        network.setblocking(False)
        abstract.setblocking(False)
        yield Host(
            {
                "HOST_PORT": str(network.getsockname()[1]),
                "HOST_ABSTRACT": name,
                "HOST_FILE": str(file),
                "HOST_PID": str(os.getpid()),
                "HOST_NEIGHBOUR": str(neighbour.pid),
                "PROCESSES": str(SMALL.processes),
                "TMP": str(SMALL.tmp),
                "MEGABYTES": str(MEGABYTES),
            },
            (network, abstract),
            file,
            neighbour,
        )
        neighbour.kill()


def attack_job(program: Path, host: Host) -> Job:
    return python_job(
        program.read_text(),
        files={"attempts.py": HELPER},
        environment=host.environment,
        arenas={"shared": 65536},
    )


def expectation(program: Path, sandbox: Sandbox) -> str:
    """The "Expected:" line of a program's docstring, or the one for Landlock; "blocked" without one."""
    documentation = ast.get_docstring(ast.parse(program.read_text())) or ""
    assert "Strategy:" in documentation
    assert "Stopped by:" in documentation
    found: dict[str, str] = dict(
        re.findall(r"^(Expected[a-zA-Z ]*): (.+)$", documentation, re.MULTILINE)
    )
    usual = found.get("Expected", "blocked")
    if sandbox.isolation is Isolation.LANDLOCK:
        return found.get("Expected below Landlock", usual)
    return usual


def held(outcome: Outcome, expected: str) -> bool:
    if expected == "out_of_memory":
        return outcome.ending.out_of_memory and outcome.ending.signal is not None
    if expected == "out_of_memory or refused":
        return outcome.ending.out_of_memory or held(outcome, "blocked")
    if expected in ("silence", "forged"):  # that is harmless: the judge believes no words
        said = {"silence": "", "forged": "forged\n"}[expected]
        return (outcome.output, outcome.ending.exit_code) == (said, 0)
    if expected.startswith("exit "):
        return outcome.ending.exit_code == int(expected.removeprefix("exit "))
    lines = outcome.output.splitlines()
    clean = bool(lines) and all(line.startswith("blocked ") for line in lines)
    return clean and outcome.ending.exit_code == 0


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_an_attack_fails_and_the_next_honest_job_runs(sandbox: Sandbox, program: Path, host: Host):
    outcome = run(sandbox, attack_job(program, host))
    assert held(outcome, expectation(program, sandbox)), (
        outcome.output,
        outcome.printed,
        outcome.ending,
    )
    assert host.untouched()
    assert run(sandbox, python_job("print('honest')")).output == "honest\n"


def test_nothing_that_one_job_leaves_reaches_the_next(sandbox: Sandbox, host: Host):
    program = HERE / "programs" / "next_job.py"
    for _ in range(2):
        outcome = run(sandbox, attack_job(program, host))
        assert held(outcome, "blocked"), (outcome.output, outcome.printed, outcome.ending)


def test_printing_without_end_costs_the_judge_no_memory(sandbox: Sandbox, host: Host):
    program = HERE / "programs" / "print_without_end.py"
    before = psutil.Process().memory_info().rss
    outcome = run(sandbox, attack_job(program, host))
    assert outcome.ending.exit_code == 0
    assert outcome.printed == "x" * SMALL.printed
    assert psutil.Process().memory_info().rss - before < 32 << 20


def test_what_is_shown_of_the_output_has_no_control_characters(sandbox: Sandbox, host: Host):
    outcome = run(sandbox, attack_job(HERE / "programs" / "control_characters.py", host))
    assert "override" in outcome.printed
    kinds = {unicodedata.category(letter) for letter in outcome.printed}
    assert not kinds & {"Cc", "Cf", "Cs"}


def test_the_judge_reads_an_arena_after_the_attack_on_it(sandbox: Sandbox, host: Host):
    job = attack_job(HERE / "programs" / "shrink_arena.py", host)
    with sandbox.start(job) as running:
        with pytest.raises(JobEnded):
            running.read(1 << 20, time.monotonic() + 20)
        assert bytes(running.arena("shared")) == bytes(65536)
        assert running.kill().exit_code == 0
