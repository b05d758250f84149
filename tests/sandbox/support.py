"""Starting small programs in real sandboxes, and seeing that nothing of them is left."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from sandbox import layout
from sandbox.bubblewrap import BubblewrapSandbox
from sandbox.choose import why_not
from sandbox.namespaces import NamespaceSandbox
from sandbox.spec import Ending, Job, JobEnded, Limits, Sandbox

PYTHON = str(layout.interpreter())
TREES = (Path(sys.base_prefix),)
REAL = {"bubblewrap": BubblewrapSandbox, "namespaces": NamespaceSandbox}
SMALL = Limits(wall=30, cpu=20, memory=400 << 20, address_space=2 << 30, processes=24, tmp=16 << 20)


@pytest.fixture(params=sorted(REAL))
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    chosen: Sandbox = REAL[request.param]()
    refusal = why_not(chosen)
    required = os.environ.get("BACKPASS_REQUIRE_ALL") == "1"
    if refusal and "not installed" in refusal and not required:
        pytest.skip(refusal)
    assert refusal is None
    return chosen


@dataclass(frozen=True)
class State:
    """What this process and the machine hold on a sandbox's behalf."""

    children: frozenset[int]
    descriptors: int
    threads: int
    folders: frozenset[str]

    @staticmethod
    def now() -> State:
        return State(
            frozenset(process.pid for process in psutil.Process().children(recursive=True)),
            len(list(Path("/proc/self/fd").iterdir())),
            threading.active_count(),
            frozenset(str(path) for path in Path(tempfile.gettempdir()).glob("backpass-job-*")),
        )


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    before = State.now()
    yield
    assert State.now() == before


@dataclass(frozen=True)
class Outcome:
    output: str
    printed: str
    ending: Ending
    seconds: float


def python_job(
    source: str,
    *,
    limits: Limits = SMALL,
    environment: Mapping[str, str] | None = None,
    files: Mapping[str, bytes] | None = None,
    arenas: Mapping[str, int] | None = None,
    trees: tuple[Path, ...] = (),
) -> Job:
    """A job that runs `source` as /job/program.py."""
    return Job(
        argv=(PYTHON, "-B", "/job/program.py"),
        files={"program.py": source.encode(), **(files or {})},
        trees=TREES + trees,
        environment=environment or {},
        arenas=arenas or {},
        limits=limits,
    )


def run(sandbox: Sandbox, job: Job) -> Outcome:
    """Run `job` to its end, without input."""
    started = time.monotonic()
    output = bytearray()
    with sandbox.start(job) as running:
        try:
            while True:
                output += running.read(1, started + job.limits.wall + 10)
        except JobEnded:
            ending = running.kill()
    seconds = time.monotonic() - started
    return Outcome(output.decode(errors="replace"), running.printed(), ending, seconds)
