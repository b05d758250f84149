"""Isolation by Landlock (https://docs.kernel.org/userspace-api/landlock.html), a second system call
filter and resource limits, where nobody may make namespaces.

Weaker than the others: the job is a process among the host's, in the host's file system, of which all
but a few folders is closed to it. What it can still learn or use up is in this package's README.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import replace

from sandbox import landlock_kernel, layout
from sandbox.arenas import Arena
from sandbox.folder import JobFolder
from sandbox.identity import NOBODY, Identity, nobody_exists
from sandbox.landlock_meter import DiskMeter, FolderMeter, descendants
from sandbox.launched import LocalRunning, SignalledRunning
from sandbox.layout import Step
from sandbox.local import PACKAGES, LocalSandbox
from sandbox.process import Channels
from sandbox.spec import Isolation, Job, Limits, SandboxUnavailable
from sandbox.watchdog import Meter

_READ_OF_PROC = ("/proc/cpuinfo", "/proc/meminfo")


class LandlockSandbox:
    """Jobs as processes that gave up the file system, sockets and other processes. They find /job and
    /tmp elsewhere (see sandbox.folder)."""

    name = "landlock"
    isolation = Isolation.LANDLOCK
    level = (
        "Each job is a process that may open only its own files and the system's programs "
        "(Landlock), with no network, no privileges, system call filters and resource limits. It "
        "shares the kernel, the file system and the user with others."
    )

    def __init__(self, abi: int | None = None) -> None:
        """Use Landlock as kernels of version `abi` of its interface have it, or as this one does."""
        self._abi = abi

    def start(self, job: Job) -> LocalRunning:
        """See sandbox.spec.Sandbox.

        Raises:
            SandboxUnavailable: the machine refuses.
            ValueError: the job names a file, tree or arena that is not allowed.
        """
        problem = landlock_kernel.why_not()
        if problem is not None:
            raise SandboxUnavailable(problem)
        abi = landlock_kernel.abi() if self._abi is None else self._abi
        who = _who()
        try:
            folder = JobFolder.make(job, who.change)
        except OSError as error:
            raise SandboxUnavailable(f"no folder for a job could be made: {error}") from error
        try:
            # A job may be over, and its folder gone, as soon as it was started.
            disk = DiskMeter(folder.home, job.limits.tmp, _longest_file(job.limits))
            running = _LandlockProcess(folder, abi, who, disk).start(folder.moved(job))
        except BaseException as error:
            folder.remove()
            if isinstance(error, SandboxUnavailable) and "Permission denied" in str(error):
                raise SandboxUnavailable(f"{error}. {_whose(who)}") from error
            raise
        running.afterwards(folder.remove)
        return running


def _who() -> Identity:
    """Root's jobs are nobody's, an ordinary user's are that user's."""
    change = (NOBODY, NOBODY) if os.geteuid() == 0 and nobody_exists() else None
    return Identity(privileged=False, uid_map="", gid_map="", change=change)


def _whose(who: Identity) -> str:
    if who.change is None:
        return "Jobs run as your own user here"
    return (
        f"Jobs of root run as user {NOBODY} here, who must be able to reach Python and this checkout: "
        "keep both where everybody may read, or run as an ordinary user"
    )


class _LandlockProcess(LocalSandbox):
    name = LandlockSandbox.name
    isolation = LandlockSandbox.isolation
    level = LandlockSandbox.level
    first = "landlock_inner"
    stage = PACKAGES
    in_memory = ()
    own_processes = False

    def __init__(self, folder: JobFolder, abi: int, who: Identity, disk: DiskMeter) -> None:
        self.home = str(folder.home)
        self.folder = str(folder.path)
        self.confine_signals = abi >= landlock_kernel.SCOPES_SINCE
        self._folder = folder
        self._abi = abi
        self._who = who
        self._disk = disk

    def _identity(self) -> Identity:
        return self._who

    def _shares_its_user(self, who: Identity) -> bool:  # noqa: ARG002 - the interface's
        return True

    def _steps(self, job: Job, opened: list[int]) -> list[Step]:  # noqa: ARG002 - the interface's
        return []

    def _inner(self, job: Job, who: Identity, arenas: dict[str, Arena]) -> dict[str, object]:
        limited = replace(job, limits=replace(job.limits, file_size=_longest_file(job.limits)))
        seen = layout.steps(job, lambda _name, _data: -1)
        return super()._inner(limited, who, arenas) | {
            "landlock": {
                "abi": self._abi,
                "folder": self.folder,
                "signals_confined": self.confine_signals,
                "read": [*_READ_OF_PROC, str(self._folder.files), *_of_kind(seen, "bind")],
                "devices": _of_kind(seen, "device"),
                "write": [str(self._folder.home)],
                "home_rights": int(landlock_kernel.WRITE),
            }
        }

    def _config(self, who: Identity, steps: list[Step], first: list[str]) -> dict[str, object]:  # noqa: ARG002 - the interface's
        return {"userns": None, "unshare": 0, "root": None, "argv": first}

    def _running(
        self,
        launcher: subprocess.Popen[bytes],
        channels: Channels,
        arenas: dict[str, Arena],
        limits: Limits,
    ) -> LocalRunning:
        return _LandlockRunning(launcher, channels, arenas, limits, self._disk)


class _LandlockRunning(SignalledRunning):
    def __init__(
        self,
        launcher: subprocess.Popen[bytes],
        channels: Channels,
        arenas: dict[str, Arena],
        limits: Limits,
        disk: DiskMeter,
    ) -> None:
        super().__init__(launcher, channels, arenas, limits)
        self._disk = disk

    def _meter(self, pids: Callable[[], list[int]] | None, writable: tuple[str, ...]) -> Meter:  # noqa: ARG002 - the interface's
        return FolderMeter(self._root, self._processes, self._disk)

    def _processes(self) -> list[int]:
        try:
            return descendants(self._launcher.pid)
        except FileNotFoundError:
            return self.tree()


def _longest_file(limits: Limits) -> int:
    """Files elsewhere go to a tmpfs, whose size bounds each of them."""
    return min(limits.file_size, limits.tmp)


def _of_kind(steps: list[Step], kind: str) -> list[str]:
    return [str(what) for step, what, _ in steps if step == kind]
