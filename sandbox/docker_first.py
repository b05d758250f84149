"""The first process in a container: fetches from the judge what the job is, then goes on as
sandbox.inner does.

The engine carries only the container's start. Streams, shared memories and everything said between
the judge and process 1 go through one socket, whose name is in a folder that only this container and
the judge see, and is gone before the job starts. Standard library only.
"""

from __future__ import annotations

import json
import os
import socket
from typing import Any

from sandbox import inner, orders

SOCKET = "/stage/judge"
_MOST_DESCRIPTORS = 64


def main() -> None:
    """Ask the judge for the job and run it."""
    judge = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    judge.connect(SOCKET)
    _, descriptors, _, _ = socket.recv_fds(judge, 16, _MOST_DESCRIPTORS)
    with os.fdopen(descriptors[0], "rb") as stream:
        config = json.load(stream)
    inner.run(placed(config, descriptors[1:]) | {"status": judge.detach()}, orders.obey)


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
