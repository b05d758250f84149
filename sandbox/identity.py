"""Which user a job is, inside its namespace and outside.

Started by root, the job becomes `NOBODY` outside: were it root there, RLIMIT_NPROC would not hold and
root's own files in the visible trees would be readable. Started by an ordinary user it can only be that
user outside, whose files are out of sight.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

INSIDE = 1000
NOBODY = 65534


@dataclass(frozen=True)
class Identity:
    """How users are mapped. `change` tells the first process to become the job's user."""

    privileged: bool
    uid_map: str
    gid_map: str
    change: tuple[int, int] | None


def identity() -> Identity:
    """The mapping for the calling process's user."""
    if os.geteuid() == 0 and nobody_exists():
        both = f"0 0 1\n{INSIDE} {NOBODY} 1\n"
        return Identity(True, both, both, (INSIDE, INSIDE))
    return Identity(False, f"{INSIDE} {os.geteuid()} 1\n", f"{INSIDE} {os.getegid()} 1\n", None)


def nobody_exists() -> bool:
    """Whether there is a user and a group `NOBODY` in the namespace we are in ourselves."""
    return _covers("uid_map") and _covers("gid_map")


def _covers(name: str) -> bool:
    for line in Path(f"/proc/self/{name}").read_text().splitlines():
        first, _, count = (int(word) for word in line.split())
        if first <= NOBODY < first + count:
            return True
    return False
