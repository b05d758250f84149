"""Stops all processes below one, and lets them go on: what is idle must not compute.

By signals, because an ordinary user has no control group whose freezer would do. Nobody can refuse
SIGSTOP, and whoever could send SIGCONT is stopped too. Processes are held by descriptors, so that a
number which is used again never names somebody else.
"""

from __future__ import annotations

import os
import signal
import time

_PATIENCE = 2.0  # seconds that stopping may take; a process in the kernel stops when it leaves it
_STOPPED = frozenset("TtZX")


class Freezer:
    """Stops and continues everything below the process `root`, which itself goes on."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._held: dict[int, int] = {}  # pid -> descriptor
        self._frozen = False

    def freeze(self) -> None:
        """Return when no thread of theirs runs. What was started meanwhile is stopped as well.

        Raises:
            TimeoutError: some would not stop.
        """
        self._signal(signal.SIGSTOP)  # those known from before at once
        self._frozen = True
        deadline = time.monotonic() + _PATIENCE
        while True:
            found = _below(self._root)
            new = found - set(self._held)
            self._forget(set(self._held) - found)
            for pid in new:
                self._take(pid)
            if not new and all(is_stopped(pid) for pid in self._held):
                return
            if time.monotonic() > deadline:
                raise TimeoutError("a process would not stop")
            time.sleep(0.0001)

    def thaw(self) -> None:
        """Let them go on."""
        if self._frozen:
            self._frozen = False
            self._signal(signal.SIGCONT)

    def close(self) -> None:
        """Let go of the descriptors."""
        self._forget(set(self._held))

    def _take(self, pid: int) -> None:
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            return
        if pid not in _below(self._root):  # its number was used again before it was held
            os.close(descriptor)
            return
        self._held[pid] = descriptor
        _send(descriptor, signal.SIGSTOP)

    def _forget(self, pids: set[int]) -> None:
        for pid in pids:
            os.close(self._held.pop(pid))

    def _signal(self, number: signal.Signals) -> None:
        for descriptor in self._held.values():
            _send(descriptor, number)


def _send(descriptor: int, number: signal.Signals) -> None:
    try:
        signal.pidfd_send_signal(descriptor, number)
    except ProcessLookupError:
        return  # it ended


def _below(root: int) -> set[int]:
    """Every process with `root` among its ancestors. Process 1 or the launcher inherits orphans."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - a path for each of some hundred entries is slow
        if name.isdigit():
            fields = _stat(f"/proc/{name}/stat")
            if fields:
                children.setdefault(int(fields[1]), []).append(int(name))
    found: set[int] = set()
    waiting = [root]
    while waiting:
        below = children.get(waiting.pop(), [])
        found.update(below)
        waiting += below
    return found


def is_stopped(pid: int) -> bool:
    """Whether no thread of `pid` runs."""
    try:
        tasks = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 - paths are slow in loops over /proc
    except OSError:
        return True  # it ended
    states = [_stat(f"/proc/{pid}/task/{task}/stat") for task in tasks]
    return all(not fields or fields[0] in _STOPPED for fields in states)


def _stat(path: str) -> list[str]:
    """The fields after the name, of which the first is the state and the second the parent; none if
    the process ended."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - quick to import and to call
            return file.read().decode(errors="replace").rpartition(")")[2].split()
    except OSError:
        return []
