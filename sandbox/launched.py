"""A job below a launcher on this machine, seen from the judge."""

from __future__ import annotations

import os
import select
import subprocess
import time

import psutil

from sandbox.arenas import Arena
from sandbox.freezer import Freezer
from sandbox.obeyed import ObeyedRunning
from sandbox.process import Channels, PipedRunning, ready
from sandbox.spec import Limits

_KILL = 5.0  # seconds a launcher has to end its sandbox before it is ended itself


class LocalRunning(PipedRunning):
    """A job below a launcher on this machine. How it is stopped is up to the subclass."""

    def __init__(
        self,
        launcher: subprocess.Popen[bytes],
        channels: Channels,
        arenas: dict[str, Arena],
        limits: Limits,
    ) -> None:
        """Take over everything given; `wait_until_started` comes next."""
        # Looking whether the launcher ended must not be what lets its number be given to another.
        self._ended = os.pidfd_open(launcher.pid)
        super().__init__(channels, arenas, limits)
        self._launcher = launcher

    def tree(self) -> list[int]:
        """The host's pids of all processes below the launcher."""
        try:
            found = psutil.Process(self._launcher.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            return []
        return [process.pid for process in found]

    def _is_running(self) -> bool:
        return not ready(self._ended, select.POLLIN, 0.0)

    def _end(self) -> None:
        try:
            os.write(self._channels.control, b"k")
        except OSError:
            return  # the launcher is gone, and with it the sandbox

    def _wait_for_the_end(self) -> None:
        # Its descriptor tells at once; subprocess would sleep and look, up to 50 ms at a time.
        if not ready(self._ended, select.POLLIN, time.monotonic() + _KILL):
            self._launcher.kill()  # its death signals take the sandbox with it
        self._launcher.wait()

    def _let_go(self) -> None:
        os.close(self._ended)


class NamespacedRunning(ObeyedRunning, LocalRunning):
    """One with a process namespace of its own, whose first process stops the others."""


class SignalledRunning(LocalRunning):
    """One whose processes the judge has to find and stop itself."""

    def __init__(
        self,
        launcher: subprocess.Popen[bytes],
        channels: Channels,
        arenas: dict[str, Arena],
        limits: Limits,
    ) -> None:
        """As for LocalRunning."""
        super().__init__(launcher, channels, arenas, limits)
        self._freezer = Freezer(launcher.pid)

    def _freeze(self) -> None:
        self._freezer.freeze()

    def _thaw(self) -> None:
        self._freezer.thaw()

    def _let_go(self) -> None:
        super()._let_go()
        self._freezer.close()
