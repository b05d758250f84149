"""What process 1 of a process namespace does for the judge while the job runs.

It does this rather than the judge, who may be in a container itself and see none of these processes, or
would have to look for them among all of the machine's. A signal to all of a process namespace but its
first process is one system call, which no fork under way escapes; whoever could send SIGCONT is stopped
too. Standard library only.
"""

from __future__ import annotations

import os
import signal
import time

from sandbox.freezer import is_stopped

PAUSE = b"pause"
RESUME = b"resume"
END = b"end"
PAUSED = b"paused"
STILL_RUNNING = b"running"
_PATIENCE = 2.0  # seconds that stopping may take; a process in the kernel stops when it leaves it


def obey(order: bytes) -> bytes:
    """Carry out `order` of the judge, and the answer, empty for none."""
    match order:
        case b"pause":
            _to_all(signal.SIGSTOP)
            return PAUSED if _all_stop() else STILL_RUNNING
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
