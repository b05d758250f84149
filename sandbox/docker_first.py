"""The first process in a container: fetches from the judge what the job is, then goes on as
sandbox.inner does.

The engine carries only the container's start. Streams, shared memories and everything said between
the judge and process 1 go through one socket, whose name is in a folder that only this container and
the judge see, and is gone before the job starts. Standard library only.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from typing import Any

from sandbox import inner
from sandbox.freezer import is_stopped

SOCKET = "/stage/judge"
_MOST_DESCRIPTORS = 64
_PATIENCE = 2.0  # seconds that stopping may take; a process in the kernel stops when it leaves it


def main() -> None:
    """Ask the judge for the job and run it."""
    judge = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    judge.connect(SOCKET)
    _, descriptors, _, _ = socket.recv_fds(judge, 16, _MOST_DESCRIPTORS)
    with os.fdopen(descriptors[0], "rb") as stream:
        config = json.load(stream)
    inner.run(placed(config, descriptors[1:]) | {"status": judge.detach()}, obey)


def placed(config: dict[str, Any], descriptors: list[int]) -> dict[str, Any]:
    """`config` with the numbers that its descriptors have here: three streams, the pipe that tells
    whether the judge lives, then the arenas in the order of their names in `config`."""
    arenas = dict(zip(config["arenas"], descriptors[4:], strict=True))
    paths = {f"ARENA_{name.upper()}": f"/proc/self/fd/{fd}" for name, fd in arenas.items()}
    return config | {
        "streams": descriptors[:3],
        "alive": descriptors[3],
        "keep": list(arenas.values()),
        "environment": config["environment"] | paths,
    }


def obey(order: bytes) -> bytes:
    """Carry out `order` of the judge, and the answer.

    Process 1 does this rather than the judge, who may be in a container itself and see none of these
    processes. A signal to all of a process namespace but its first process is one system call, which
    no fork under way escapes; whoever could send SIGCONT is stopped too.
    """
    match order:
        case b"pause":
            _to_all(signal.SIGSTOP)
            return b"paused" if _all_stop() else b"running"
        case b"resume":
            _to_all(signal.SIGCONT)
            return b""
        case _:  # the end, or the judge closed the socket
            os._exit(0)


def _to_all(number: signal.Signals) -> None:
    try:
        os.kill(-1, number)
    except ProcessLookupError:
        return  # there is none


def _all_stop() -> bool:
    deadline = time.monotonic() + _PATIENCE
    mine = os.getpid()
    while True:
        pids = {int(name) for name in os.listdir("/proc") if name.isdigit()}  # noqa: PTH208 - paths are slow in loops over /proc
        if all(is_stopped(pid) for pid in pids - {mine}):
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(0.00005)
