"""Keeping hold of every process below this one, by Linux's `prctl`.

A process that declares itself a subreaper inherits whatever its children leave behind, so that all that
was ever started below it can be found, even what made a session of its own.
"""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections.abc import Container
from contextlib import suppress

import psutil

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36

_libc = ctypes.CDLL(None, use_errno=True)


def _prctl(option: int, value: int) -> None:
    if _libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl failed")


def become_subreaper() -> None:
    """From now on orphans below this process become its children."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def signal_on_death_of_parent(number: signal.Signals, parent: int) -> None:
    """Have the kernel send this process `number` when process `parent` ends.

    To be called in the child. If the parent has already ended the signal is sent at once.
    """
    _prctl(_PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:
        os.kill(os.getpid(), number)


def kill_all_below(seconds: float = 5.0) -> None:
    """Kill every process below this one and wait for their ends, at most `seconds`."""
    deadline = time.monotonic() + seconds
    me = psutil.Process()
    while (below := me.children(recursive=True)) and time.monotonic() < deadline:
        for process in below:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        reap_all()
        time.sleep(0.01)


def kill_strays(known: Container[int]) -> int:
    """Kill what was left behind: our children that are not `known`, and all below them.

    Only a dead process's children come to us, so a stray has nobody left who wants it. Returns how
    many there were.
    """
    strays = [child for child in psutil.Process().children() if child.pid not in known]
    for stray in strays:
        with suppress(psutil.NoSuchProcess):
            for process in [*stray.children(recursive=True), stray]:
                with suppress(psutil.NoSuchProcess):
                    process.kill()
        with suppress(ChildProcessError):
            os.waitpid(stray.pid, os.WNOHANG)
    return len(strays)


def reap_all() -> None:
    """Collect the ends of all children that have ended."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
