"""A job below a launcher on this machine, seen from the judge."""

from __future__ import annotations

import os
import subprocess

import psutil

from sandbox.arenas import Arena
from sandbox.freezer import Freezer
from sandbox.process import Channels, PipedRunning
from sandbox.spec import Limits

_KILL = 5.0  # seconds a launcher has to end its sandbox before it is ended itself


class LocalRunning(PipedRunning):
    """A job below a launcher on this machine."""

    def __init__(
        self,
        launcher: subprocess.Popen[bytes],
        channels: Channels,
        arenas: dict[str, Arena],
        limits: Limits,
    ) -> None:
        """Take over everything given; `wait_until_started` comes next."""
        super().__init__(channels, arenas, limits)
        self._launcher = launcher
        self._freezer = Freezer(launcher.pid)

    def tree(self) -> list[int]:
        """The host's pids of all processes below the launcher."""
        try:
            found = psutil.Process(self._launcher.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            return []
        return [process.pid for process in found]

    def _is_running(self) -> bool:
        return self._launcher.poll() is None

    def _end(self) -> None:
        try:
            os.write(self._channels.control, b"k")
        except OSError:
            return  # the launcher is gone, and with it the sandbox

    def _wait_for_the_end(self) -> None:
        try:
            self._launcher.wait(_KILL)
        except subprocess.TimeoutExpired:
            self._launcher.kill()  # its death signals take the sandbox with it
            self._launcher.wait()

    def _freeze(self) -> None:
        self._freezer.freeze()

    def _thaw(self) -> None:
        self._freezer.thaw()

    def _let_go(self) -> None:
        self._freezer.close()
