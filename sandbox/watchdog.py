"""What a running job uses, and the thread that ends it when that is too much.

Unprivileged users have no control group to bound memory, so it is measured: often, and from the
sandbox's own /proc, which lists exactly its processes.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from sandbox.spec import Limits

PERIOD = 0.05
_INODE = 1024  # bytes of kernel memory an empty file costs, roughly
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Usage:
    """Bytes of memory, seconds of processor time and bytes on disk, of all processes together."""

    memory: int
    cpu: float
    disk: int = 0


class Meter(Protocol):
    """Measures a running job."""

    def usage(self, memory_limit: int) -> Usage:
        """What the job uses now. Precise about shared memory only above `memory_limit`."""


class ProcMeter:
    """Measures through a /proc file system and the job's writable file systems."""

    def __init__(self, root: int, pids: Callable[[], list[int]] | None, writable: tuple[str, ...]):
        """`root` is a descriptor of the folder that holds ``proc`` and the `writable` ones; `pids`
        names the processes, all of that /proc if None."""
        self._root = root
        self._pids = pids
        self._writable = writable

    def usage(self, memory_limit: int) -> Usage:
        pids = self._listed() if self._pids is None else self._pids()
        files = sum(self._files(path) for path in self._writable)
        memory = files + sum(self._resident(pid) for pid in pids)
        if memory > memory_limit:
            # Pages shared after a fork were counted once for each process.
            memory = files + sum(self._proportional(pid) for pid in pids)
        return Usage(memory, sum(self._cpu(pid) for pid in pids))

    def _read(self, path: str) -> str:
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._root)
        except OSError:
            return ""  # the process ended meanwhile
        try:
            return os.read(descriptor, 1 << 16).decode(errors="replace")
        except OSError:
            return ""
        finally:
            os.close(descriptor)

    def _listed(self) -> list[int]:
        try:
            folder = os.open("proc", os.O_RDONLY | os.O_DIRECTORY, dir_fd=self._root)
        except OSError:
            return []
        try:
            return [int(name) for name in os.listdir(folder) if name.isdigit()]  # noqa: PTH208 - paths are slow in loops over /proc
        finally:
            os.close(folder)

    def _files(self, path: str) -> int:
        """Bytes held by a tmpfs."""
        try:
            folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY, dir_fd=self._root)
        except OSError:
            return 0
        try:
            found = os.fstatvfs(folder)
        finally:
            os.close(folder)
        blocks = (found.f_blocks - found.f_bfree) * found.f_frsize
        return blocks + (found.f_files - found.f_ffree) * _INODE

    def _resident(self, pid: int) -> int:
        # Pages of files can be dropped by the kernel; everything else stays until the process ends.
        return _kilobytes(self._read(f"proc/{pid}/status"), ("RssAnon", "RssShmem", "VmPTE"))

    def _proportional(self, pid: int) -> int:
        rollup = self._read(f"proc/{pid}/smaps_rollup")
        if "Pss_Anon" not in rollup:
            return self._resident(pid)
        tables = _kilobytes(self._read(f"proc/{pid}/status"), ("VmPTE",))
        return tables + _kilobytes(rollup, ("Pss_Anon", "Pss_Shmem"))

    def _cpu(self, pid: int) -> float:
        fields = self._read(f"proc/{pid}/stat").rpartition(")")[2].split()
        if len(fields) < 15:
            return 0.0
        # utime, stime, and the same of children that ended: fields 14 to 17 of proc_pid_stat(5)
        return sum(int(field) for field in fields[11:15]) / _TICKS


def _kilobytes(text: str, names: tuple[str, ...]) -> int:
    total = 0
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        if name in names:
            total += int(rest.split()[0]) * 1024
    return total


class Watchdog:
    """Calls `stop` with the name of the Ending's field, once, when a limit is passed."""

    def __init__(
        self,
        limits: Limits,
        meter: Meter,
        running: Callable[[], bool],
        stop: Callable[[str], None],
    ) -> None:
        """Start watching at once; the wall clock begins now."""
        self._limits = limits
        self._meter = meter
        self._running = running
        self._stop = stop
        self._end = time.monotonic() + limits.wall
        self._finished = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="sandbox-watchdog", daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._finished.wait(PERIOD) and self._running():
            if time.monotonic() >= self._end:
                self._stop("timed_out")
                return
            usage = self._meter.usage(self._limits.memory)
            if usage.memory > self._limits.memory or usage.disk > self._limits.tmp:
                self._stop("out_of_memory")
                return
            if usage.cpu > self._limits.cpu:
                self._stop("timed_out")
                return

    def finish(self) -> None:
        """Stop watching and wait for the thread."""
        self._finished.set()
        self._thread.join()
