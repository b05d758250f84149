"""The one interface to isolation. The judge knows only what is in this module.

A sandbox starts one job, in one process tree, with nothing but the files it was given. The judge talks
to it over its standard input and output (a byte stream each way), sees its standard error (capped) as
what the job printed, and shares fixed-size memory with it (arenas) so that tensors need not squeeze
through a pipe. Everything that comes back is bytes from an enemy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self


class SandboxUnavailable(RuntimeError):
    """This machine cannot isolate a job; the message says why and what the operator can do."""


class JobEnded(Exception):
    """The job's process is gone, or closed its streams, while the judge still talked to it."""


class DeadlinePassed(Exception):
    """The judge waited for the job until the deadline."""


@dataclass(frozen=True)
class Limits:
    """What a job may use. Bytes and seconds.

    `memory` bounds the whole tree's resident memory and each process's address space is bounded by
    `address_space`; `wall` is the whole job's life, after which it is killed.
    """

    wall: float = 120.0
    cpu: float = 240.0
    memory: int = 4 << 30
    address_space: int = 16 << 30
    processes: int = 64
    open_files: int = 256
    file_size: int = 256 << 20
    tmp: int = 256 << 20
    printed: int = 64 << 10


@dataclass(frozen=True)
class Job:
    """What to run.

    `argv` starts with an absolute path. `files` appear read-only below ``/job``; `trees` are host
    folders visible read-only at their own path (the Python installation, its libraries, the harness).
    `environment` is all the environment the job has. `arenas` are shared memories, name to size in
    bytes; the job opens each at the path in its environment variable ``ARENA_<NAME>``.
    """

    argv: tuple[str, ...]
    files: Mapping[str, bytes] = field(default_factory=dict)
    trees: tuple[Path, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    arenas: Mapping[str, int] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True)
class Ending:
    """How a job ended. Exactly one of `exit_code` and `signal` is set once it has."""

    exit_code: int | None = None
    signal: int | None = None
    out_of_memory: bool = False
    timed_out: bool = False


class Running(Protocol):
    """A started job. Use as a context manager: leaving it kills and removes everything."""

    def write(self, data: bytes | memoryview, deadline: float) -> None:
        """Send `data` to the job's standard input before `deadline` (time.monotonic).

        Raises:
            JobEnded: the job no longer reads.
            DeadlinePassed: it did not read fast enough.
        """

    def read(self, size: int, deadline: float) -> bytes:
        """Exactly `size` bytes of the job's standard output.

        Raises:
            JobEnded: the stream ended before.
            DeadlinePassed: they did not come in time.
        """

    def arena(self, name: str) -> memoryview:
        """The judge's writable view of a shared memory. The job can change it at any moment: copy
        what you check before you check it. Its size cannot change."""

    def pause(self) -> None:
        """Stop every process of the job, so that it neither computes nor writes to an arena. Its wall
        clock runs on. Returns when none runs.

        Raises:
            JobEnded: the job was ended.
            DeadlinePassed: something of it would not stop.
        """

    def resume(self) -> None:
        """Let the job go on, if it was paused. Takes some ten microseconds."""

    def printed(self) -> str:
        """What the job wrote to its standard error so far, cut at `Limits.printed`, as text in which
        every control character but newline and tab is replaced."""

    def kill(self) -> Ending:
        """End the whole tree, wait until it is gone, and say how the first process ended: by itself,
        at a limit, or now."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None: ...


class Isolation(StrEnum):
    """How strong it is, the strongest first. What each does not promise is said in wire.isolation."""

    GVISOR = "container (gVisor)"
    CONTAINER = "container"
    NAMESPACES = "namespaces"
    LANDLOCK = "landlock"
    NONE = "none"

    @property
    def binds_threads(self) -> bool:
        """Whether a job may bind its threads to processors; not if it could bind others too."""
        return self is not Isolation.LANDLOCK


class Sandbox(Protocol):
    """A way to isolate jobs on this machine."""

    name: str  # "docker", "bubblewrap", "namespaces", "landlock", "none"
    isolation: Isolation
    level: str  # one sentence for the site: what holds

    def start(self, job: Job) -> Running:
        """Start `job`.

        Raises:
            SandboxUnavailable: it cannot be isolated here.
        """
