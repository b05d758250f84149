"""Starting small programs in real sandboxes, and seeing that nothing of them is left."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import docker
import pytest

from sandbox import layout
from sandbox.bubblewrap import BubblewrapSandbox
from sandbox.choose import why_not
from sandbox.docker import DockerSandbox, Settings
from sandbox.docker_container import FOLDER
from sandbox.landlock import LandlockSandbox
from sandbox.namespaces import NamespaceSandbox
from sandbox.spec import Ending, Job, JobEnded, Limits, Sandbox
from tests.engine import children, engine


def as_nobody() -> list[str]:
    """What to put before a command to run it as an ordinary user."""
    if os.geteuid() != 0:
        return []
    user = ["--reuid", "65534", "--regid", "65534", "--clear-groups"]
    # Else what is executed first could still read everything.
    return ["setpriv", *user, "--inh-caps=-all", "--bounding-set=-all"]


def python_for_everybody() -> str:
    """A Python that a user without privileges may execute."""
    for candidate in ("/usr/bin/python3", "/usr/local/bin/python3", str(layout.interpreter())):
        check = "import sys; sys.exit(sys.version_info < (3, 11))"
        command = [*as_nobody(), candidate, "-c", check]
        ran = Path(candidate).exists() and subprocess.run(command, check=False, capture_output=True)
        if ran and ran.returncode == 0:
            return candidate
    raise AssertionError("no Python from 3.11 on that an ordinary user may execute")


PYTHON = python_for_everybody()
TREES = (Path(sys.base_prefix),)
NAMESPACED = {"bubblewrap": BubblewrapSandbox, "namespaces": NamespaceSandbox}
REAL = NAMESPACED | {"landlock": LandlockSandbox}
PATIENCE = 10.0
NO_PARAMETERS = SimpleNamespace(params={})
SMALL = Limits(wall=30, cpu=20, memory=400 << 20, address_space=2 << 30, processes=24, tmp=16 << 20)


@pytest.fixture(scope="session")
def docker_settings() -> Iterator[Settings]:
    """A real engine, and a folder for its jobs."""
    folder = Path(tempfile.mkdtemp(prefix="backpass-docker-"))
    with engine() as address:
        yield Settings(engine=address, folder=folder)
    shutil.rmtree(folder)


@contextmanager
def no_container_left(settings: Settings) -> Iterator[None]:
    """Afterwards nothing of a job is in the folder or in the engine."""
    yield
    assert not list(settings.folder.iterdir())
    with closing(client(settings)) as asked:
        label = f"{FOLDER}={settings.folder}"
        assert not asked.containers.list(all=True, filters={"label": label})


def client(settings: Settings) -> docker.DockerClient:
    """Another connection to the engine of `settings`."""
    if settings.engine is None:
        return docker.from_env()
    return docker.DockerClient(base_url=settings.engine)


@pytest.fixture(params=[*sorted(REAL), "docker"])
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    yield from working(request)


@pytest.fixture(params=[*sorted(NAMESPACED), "docker"])
def contained(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """One that gives a job a file system, processes and a network of its own."""
    yield from working(request)


def working(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """The sandbox that `request` names. One that this machine lacks skips the test."""
    name: str = request.param
    if name == "docker":
        settings: Settings = request.getfixturevalue("docker_settings")
        with no_container_left(settings), DockerSandbox(settings) as chosen:
            yield chosen
        return
    refusal = _refusal(name)
    required = os.environ.get("BACKPASS_REQUIRE_ALL") == "1"
    if refusal and ("not installed" in refusal or "Landlock" in refusal) and not required:
        pytest.skip(refusal)
    assert refusal is None
    yield REAL[name]()


@cache
def _refusal(name: str) -> str | None:
    return why_not(REAL[name](), PYTHON)


@dataclass(frozen=True)
class State:
    """What this process and the machine hold on a sandbox's behalf."""

    children: frozenset[int]
    descriptors: int
    threads: int
    folders: frozenset[str]

    @staticmethod
    def now() -> State:
        gc.collect()  # connections in reference cycles
        return State(
            children(),
            len(list(Path("/proc/self/fd").iterdir())),
            threading.active_count(),
            frozenset(str(path) for path in Path(tempfile.gettempdir()).glob("backpass-job-*")),
        )

    def holds_no_more_than(self, earlier: State) -> bool:
        """What a test before left may go meanwhile."""
        return (
            self.children <= earlier.children
            and self.descriptors <= earlier.descriptors
            and self.threads <= earlier.threads
            and self.folders <= earlier.folders
        )


@pytest.fixture(autouse=True)
def nothing_is_left(request: pytest.FixtureRequest) -> Iterator[None]:
    if "docker" in getattr(request.node, "callspec", NO_PARAMETERS).params.values():
        request.getfixturevalue("docker_settings")  # its engine stays for the whole session
    before = State.now()
    yield
    deadline = time.monotonic() + PATIENCE  # whoever outlives a killed process tidies up after it
    while not (after := State.now()).holds_no_more_than(before) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert after.holds_no_more_than(before), (after, before)


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
