"""What a job without a file system and a /proc of its own uses of memory, processors and disk."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from pathlib import Path

from sandbox.watchdog import ProcMeter, Usage

_SMALLEST = 4096  # bytes that a file costs at least, however empty: its inode, its name, a block
_DEEPEST = 40  # folders below folders that are looked into: each level holds a descriptor
_PERIOD = 0.2  # seconds between two looks at the disk
_SHARE = 10  # the looks take no more of the time than one in this many
_BLOCK = 512  # what st_blocks counts in, whatever the file system


def descendants(root: int) -> list[int]:
    """The processes below `root`, parents first.

    Raises:
        FileNotFoundError: this kernel does not list children (CONFIG_PROC_CHILDREN).
    """
    found: list[int] = []
    waiting = [root]
    while waiting:
        children = _children(waiting.pop(0))
        found += children
        waiting += children
    return found


def _children(pid: int) -> list[int]:
    found: list[int] = []
    try:
        tasks = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 - names only, many times a second
    except OSError:
        return found  # it ended
    for task in tasks:
        try:
            with open(f"/proc/{pid}/task/{task}/children", "rb") as file:  # noqa: PTH123 - quick to import and to call
                found += [int(word) for word in file.read().split()]
        except OSError:
            if Path(f"/proc/{pid}/task/{task}/stat").exists():
                raise
    return found


class FolderMeter:
    """Measures the processes that `pids` names, and what they hold of the disk."""

    def __init__(self, root: int, pids: Callable[[], list[int]], disk: DiskMeter) -> None:
        """`root` is a descriptor of the root folder."""
        self._processes = ProcMeter(root, pids, ())
        self._pids = pids
        self._disk = disk
        self._used = 0
        self._next_look = 0.0

    def usage(self, memory_limit: int) -> Usage:
        used = self._processes.usage(memory_limit)
        began = time.monotonic()
        if began >= self._next_look:
            self._used = self._disk.used(self._pids()[1:])  # the first is our own first process
            now = time.monotonic()
            self._next_look = now + max(_PERIOD, _SHARE * (now - began))
        return Usage(used.memory, used.cpu, self._used)


class DiskMeter:
    """Counts the bytes that a folder takes, also those of removed files that somebody still has open
    or mapped."""

    def __init__(self, folder: Path, limit: int, longest_file: int) -> None:
        """It stops counting above `limit` bytes; `longest_file` is what one file may take. The folder
        must still be there."""
        self._folder = folder
        self._limit = limit
        self._longest_file = longest_file
        self._device = folder.stat().st_dev

    def used(self, pids: list[int]) -> int:
        """Bytes, exact up to the limit. `pids` are the processes that can have files there open."""
        total = self._listed()
        removed: set[int] = set()
        for pid in pids:
            if total > self._limit:
                break
            total += self._removed_by(pid, removed)
        return total

    def _listed(self) -> int:
        try:
            descriptor = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            return 0  # the job is over and its folder gone
        try:
            return self._below(descriptor, 0)
        finally:
            os.close(descriptor)

    def _below(self, folder: int, depth: int) -> int:
        if depth > _DEEPEST:
            return self._limit + 1  # deeper than anybody needs, so that nothing is hidden there
        total = 0
        with os.scandir(folder) as entries:
            for entry in entries:
                try:
                    found = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                total += max(found.st_blocks * _BLOCK, _SMALLEST)
                if stat.S_ISDIR(found.st_mode):
                    total += self._in_folder(entry.name, folder, depth + 1)
                if total > self._limit:
                    break
        return total

    def _in_folder(self, name: str, parent: int, depth: int) -> int:
        try:
            descriptor = _opened(name, parent)
        except (FileNotFoundError, NotADirectoryError):
            return 0  # removed, or replaced by something else, meanwhile
        try:
            return self._below(descriptor, depth)
        finally:
            os.close(descriptor)

    def _removed_by(self, pid: int, seen: set[int]) -> int:
        """Bytes of files that have no name any more and are not in `seen`, where they are put."""
        try:
            total = 0
            for number in os.listdir(f"/proc/{pid}/fd"):  # noqa: PTH208 - paths are slow in loops over /proc
                total += self._if_removed(f"/proc/{pid}/fd/{number}", seen)
            return total + self._mapped_by(pid, seen)
        except PermissionError:
            # It made itself impossible to look into, which no honest program does.
            return self._limit + 1 if _has_memory(pid) else 0
        except (FileNotFoundError, ProcessLookupError):
            return 0

    def _if_removed(self, path: str, seen: set[int]) -> int:
        try:
            found = os.stat(path)  # noqa: PTH116 - many times a second
        except FileNotFoundError:
            return 0
        ours = found.st_dev == self._device and stat.S_ISREG(found.st_mode)
        if not ours or found.st_nlink > 0 or found.st_ino in seen:
            return 0
        seen.add(found.st_ino)
        return max(found.st_blocks * _BLOCK, _SMALLEST)

    def _mapped_by(self, pid: int, seen: set[int]) -> int:
        """A removed file that is only mapped may be as long as a file can be: nobody can tell."""
        total = 0
        with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - quick to import and to call
            for line in file:
                fields = line.rstrip("\n").split(maxsplit=5)
                if len(fields) < 6 or not fields[5].endswith(" (deleted)"):
                    continue
                inode = int(fields[4])
                if fields[5].startswith(f"{self._folder}/") and inode not in seen:
                    seen.add(inode)
                    total += self._longest_file
        return total


def _opened(name: str, parent: int) -> int:
    """A descriptor of a folder, which is made readable if its owner did not let us."""
    flags = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(name, os.O_RDONLY | flags, dir_fd=parent)
    except PermissionError:
        # By a descriptor, since a name may lead elsewhere a moment later.
        held = os.open(name, os.O_PATH | flags, dir_fd=parent)
    try:
        Path(f"/proc/self/fd/{held}").chmod(0o700)
        return os.open(f"/proc/self/fd/{held}", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    finally:
        os.close(held)


def _has_memory(pid: int) -> bool:
    """False for a process that ended or is about to: it can no longer be looked into by its user."""
    try:
        return "VmSize:" in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
