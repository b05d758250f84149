"""The levels of isolation that a runner can have, and in plain words what each does not promise.

A runner says its level in its announcement and in each report's environment; pages and the console
show it with these words.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Isolation:
    """One level. `not_promised` is a sentence; `rank` is 0 for the strongest."""

    name: str
    not_promised: str
    rank: int

    @property
    def line(self) -> str:
        """All of it in one line."""
        return f"isolation: {self.name} — {self.not_promised}"


_NOT_PROMISED = {
    "container (gVisor)": (
        "does not promise to withstand a flaw in gVisor and the kernel together, or in a driver that "
        "it passes a GPU's calls to."
    ),
    "container": (
        "does not promise to withstand a flaw in the kernel, which is shared with the host, or in a "
        "GPU's driver."
    ),
    "namespaces": (
        "does not promise to withstand a flaw in the kernel, which is shared with the host, or an "
        "exact bound on memory, which is measured 20 times a second."
    ),
    "landlock": (
        "does not promise to hide that a file or a process exists, nor an exact bound on memory and "
        "disk, which are measured, nor a share of processes that other jobs cannot use up; and "
        "it shares the kernel, the system's folders and the user with the host. Threads that are "
        "timed have no processor of their own, so times vary more."
    ),
    "none": (
        "does not promise anything: a submission can read, change and send away whatever the user "
        "who runs the judge can."
    ),
}
LEVELS = tuple(
    Isolation(name, words, rank) for rank, (name, words) in enumerate(_NOT_PROMISED.items())
)
_UNKNOWN = "is not known here, so nothing is promised."
# Names of sandboxes, which older runners announce instead of their level.
_LEVEL_OF = {"bubblewrap": "namespaces", "docker": "container"}


def isolation(name: str) -> Isolation:
    """The level that a runner calls `name`, or one that promises nothing if that is not known."""
    wanted = _LEVEL_OF.get(name, name)
    for level in LEVELS:
        if level.name == wanted:
            return level
    return Isolation(name or "unknown", _UNKNOWN, len(LEVELS))
