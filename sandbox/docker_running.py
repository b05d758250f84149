"""A job in a container, seen from the judge."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from contextlib import ExitStack

from sandbox import memory, orders, seccomp
from sandbox.arenas import Arena, bytes_in_memory
from sandbox.docker_engine import Engine
from sandbox.limits import rlimits
from sandbox.obeyed import ObeyedRunning
from sandbox.process import Channels
from sandbox.spec import Job, Limits
from sandbox.watchdog import Meter, ProcMeter, Usage


def connect(
    connection: socket.socket, job: Job, home: str, *, countable: bool
) -> tuple[Channels, dict[str, Arena]]:
    """Hand `job` over to process 1 at the other end of `connection`, which the result takes over.

    `countable`: the judge can look at its processes through their /proc.

    Raises:
        OSError: process 1 is gone.
        ValueError: an arena has no size.
    """
    with ExitStack() as theirs, ExitStack() as ours:
        arenas: dict[str, Arena] = {}
        for name, size in job.arenas.items():
            arenas[name] = Arena(name, size)
            ours.callback(arenas[name].close)
        limits = rlimits(job.limits, shared_user=False)
        del limits[
            "RLIMIT_NPROC"
        ]  # counts the user in all containers; the control group counts this one
        config = {
            "ids": None,
            "rlimits": limits,
            "seccomp": seccomp.program().hex(),
            "cwd": home,
            "argv": list(job.argv),
            "environment": {"HOME": home, **job.environment},
            "arenas": list(arenas),
            "countable": countable,
        }
        sent = [bytes_in_memory("job", json.dumps(config).encode())]
        theirs.callback(os.close, sent[0])
        mine = {}
        for name in ("stdin", "stdout", "stderr", "control"):
            pair = os.pipe()
            end = 0 if name in {"stdin", "control"} else 1
            theirs.callback(os.close, pair[end])
            ours.callback(os.close, pair[1 - end])
            sent.append(pair[end])
            mine[name] = pair[1 - end]
        sent += [arena.descriptor for arena in arenas.values()]
        socket.send_fds(connection, [b"job"], sent)
        ours.pop_all()
    for arena in arenas.values():
        arena.close_descriptor()
    return Channels(status=connection, **mine), arenas


class ContainerMeter(ProcMeter):
    """Processor time by the container's /proc. Memory is bounded by its control group, which also says
    whether the kernel had to end something for it; what /proc says of it would be less exact."""

    def __init__(self, root: int) -> None:
        """`root` is a descriptor of the root of the container's file system."""
        super().__init__(root, None, ())

    def usage(self, memory_limit: int) -> Usage:
        cpu = sum(self._cpu(pid) for pid in self._listed())
        return Usage(memory_limit + 1 if memory.kills(self._root) else 0, cpu)


class Uncounted:
    """For a runtime that shows no /proc to the judge: the engine's own limits hold alone."""

    def usage(self, memory_limit: int) -> Usage:  # noqa: ARG002 - the interface's
        return Usage(0, 0.0)


class DockerRunning(ObeyedRunning):
    """A job whose process 1 is the first process of a container."""

    def __init__(
        self,
        engine: Engine,
        container: str,
        channels: Channels,
        arenas: dict[str, Arena],
        limits: Limits,
    ) -> None:
        """Take over everything given but the engine; `wait_until_started` comes next."""
        super().__init__(channels, arenas, limits)
        self._engine = engine
        self._container = container

    def _meter(self, pids: Callable[[], list[int]] | None, writable: tuple[str, ...]) -> Meter:  # noqa: ARG002 - the interface's
        return Uncounted() if self._root < 0 else ContainerMeter(self._root)

    def _is_running(self) -> bool:
        return self._hears()

    def _end(self) -> None:
        self._order(orders.END)

    def _wait_for_the_end(self) -> None:
        self._engine.wait_until_removed(self._container)

    def _let_go(self) -> None:
        """The container is gone already."""
