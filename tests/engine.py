"""A real Docker engine for tests: the machine's own if it answers, else a private one, started from
Debian's docker.io by root and gone with the test process. No image is ever fetched.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import docker
import psutil
import pytest
from docker.errors import DockerException

from tests.serve.site import wait_for

_LOG_SHOWN = 3000
OURS: set[int] = set()  # processes of engines that a test session keeps running


def answers(address: str | None) -> bool:
    """Whether an engine does at `address`, or where the environment says."""
    try:
        client = docker.from_env() if address is None else docker.DockerClient(base_url=address)
    except DockerException:
        return False
    try:
        return bool(client.ping())
    except (DockerException, OSError):
        return False
    finally:
        client.close()


def children() -> frozenset[int]:
    """All processes below this one but the engines of the test session, which start others when they
    like."""
    mine = [child for child in psutil.Process().children() if child.pid not in OURS]
    below: list[psutil.Process] = []
    for child in mine:
        with suppress(psutil.NoSuchProcess):
            below += child.children(recursive=True)
    return frozenset(child.pid for child in mine + below)


class PrivateEngine:
    """A dockerd with a folder, a socket and images of its own. Without `network` it leaves the machine's
    bridges and firewall alone, and its containers can have no network either."""

    def __init__(self, *, network: bool = False, options: tuple[str, ...] = ()) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="backpass-engine-"))
        self.address = f"unix://{self.folder}/docker.sock"
        self._network = network
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None

    def argv(self) -> list[str]:
        folders = {"data-root": "data", "exec-root": "exec", "pidfile": "pid"}
        quiet = ("--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-forward=false")
        return [
            "setpriv",
            "--pdeathsig",
            "TERM",
            "--",
            "dockerd",
            "--host",
            self.address,
            *(f"--{name}={self.folder / value}" for name, value in folders.items()),
            *(() if self._network else quiet),
            *self._options,
        ]

    def __enter__(self) -> PrivateEngine:
        for program, package in (("dockerd", "docker.io"), ("setpriv", "util-linux")):
            if not shutil.which(program):
                pytest.skip(
                    f"no Docker engine answers and there is no {program}: install {package}"
                )
        if os.geteuid() != 0:
            pytest.skip("no Docker engine answers, and only root can start one")
        with (self.folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                self.argv(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/"
            )
        OURS.add(self._process.pid)
        try:
            wait_for(
                lambda: self._ended() or answers(self.address), "an answer of the Docker engine"
            )
            assert not self._ended(), (self.folder / "log").read_text()[-_LOG_SHOWN:]
        except BaseException:
            self.__exit__()
            raise
        return self

    def _ended(self) -> bool:
        return self._process is not None and self._process.poll() is not None

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.send_signal(
                signal.SIGTERM
            )  # it takes its containerd and containers along
            try:
                self._process.wait(30)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            OURS.discard(self._process.pid)
        for line in reversed(Path("/proc/self/mountinfo").read_text().splitlines()):
            target = line.split()[4]
            if target.startswith(f"{self.folder}/"):
                subprocess.run(["umount", "--lazy", target], check=False, capture_output=True)
        shutil.rmtree(self.folder, ignore_errors=True)


@contextmanager
def engine() -> Iterator[str | None]:
    """The address of an engine, None for where the environment says."""
    if answers(None):
        yield None
        return
    with PrivateEngine() as private:
        yield private.address
