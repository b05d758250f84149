"""A job's limits as resource limits of its first process."""

from __future__ import annotations

import math
import platform
import re
from pathlib import Path

from sandbox.spec import Limits

_STACK = (8 << 20, 64 << 20)
_OURS = 2  # the launcher and process 1 can count against the job's user


def rlimits(limits: Limits, *, shared_user: int | None) -> dict[str, tuple[int, int]]:
    """Name in the module resource -> (soft, hard).

    `shared_user`: the job runs as this user, whose processes outside the sandbox count as well, if it
    is not None. Kernels before 5.14 count them whatever the user namespace, and so does every kernel
    without one.
    """
    processes = limits.processes + _OURS
    if shared_user is not None:
        processes += _tasks_of(shared_user)
    seconds = math.ceil(limits.cpu)
    return {
        "RLIMIT_AS": (limits.address_space, limits.address_space),
        "RLIMIT_NPROC": (processes, processes),
        "RLIMIT_NOFILE": (limits.open_files, limits.open_files),
        "RLIMIT_FSIZE": (limits.file_size, limits.file_size),
        "RLIMIT_CPU": (seconds, seconds + 1),
        "RLIMIT_CORE": (0, 0),
        "RLIMIT_STACK": _STACK,
        "RLIMIT_MSGQUEUE": (0, 0),
    }


def kernel_counts_by_namespace() -> bool:
    """Whether RLIMIT_NPROC counts within a user namespace."""
    numbers = [int(number) for number in re.findall(r"\d+", platform.release())[:2]]
    return numbers >= [5, 14]


def _tasks_of(user: int) -> int:
    ours = Path("/proc/self/ns/user").readlink() if kernel_counts_by_namespace() else None
    total = 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if entry.stat().st_uid == user and ours in (None, _user_namespace(entry, ours)):
                    total += len(list((entry / "task").iterdir()))
            except FileNotFoundError:
                continue  # ended meanwhile
    return total


def _user_namespace(process: Path, unknown: Path | None) -> Path | None:
    """The one that `process` is in, `unknown` if we may not know."""
    try:
        return (process / "ns" / "user").readlink()
    except PermissionError:
        return unknown
