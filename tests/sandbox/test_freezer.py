"""What is paused does not run, whatever it started, and goes on when it may."""

from __future__ import annotations

import time

import pytest

from sandbox.spec import JobEnded, Sandbox
from tests.sandbox.support import python_job

pytestmark = pytest.mark.sandbox

# Byte 0 is counted up by a thread, byte 1 by a child in a session of its own, byte 2 by a grandchild
# that was left behind.
COUNTERS = """
import mmap, os, threading

memory = mmap.mmap(os.open(os.environ["ARENA_SHARED"], os.O_RDWR), 4096)

def count(place):
    while True:
        memory[place] = (memory[place] + 1) % 251

if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        count(2)
    count(1)
if os.fork() == 0:
    if os.fork() == 0:
        count(3)
    os._exit(0)
threading.Thread(target=count, args=(0,), daemon=True).start()
os.write(1, b"x")
os.read(0, 1)
os.write(1, b"y")
os.read(0, 1)
"""
PLACES = 4


def counts(arena: memoryview) -> bytes:
    return bytes(arena[:PLACES])


def all_move(arena: memoryview) -> bool:
    moved: set[int] = set()
    begin = time.monotonic()
    last = counts(arena)
    while len(moved) < PLACES and time.monotonic() < begin + 20:
        now = counts(arena)
        moved |= {i for i in range(PLACES) if now[i] != last[i]}
        last = now
    return len(moved) == PLACES


def test_a_paused_job_stands_still_with_all_that_it_started(sandbox: Sandbox):
    with sandbox.start(python_job(COUNTERS, arenas={"shared": 4096})) as running:
        arena = running.arena("shared")
        assert running.read(1, time.monotonic() + 20) == b"x"
        assert all_move(arena)
        for _ in range(5):
            running.pause()
            still = counts(arena)
            time.sleep(0.05)
            assert counts(arena) == still
            running.resume()
            assert all_move(arena)
        running.write(b"x", time.monotonic() + 20)
        assert running.read(1, time.monotonic() + 20) == b"y"


def test_a_paused_job_can_be_killed(sandbox: Sandbox):
    with sandbox.start(python_job(COUNTERS, arenas={"shared": 4096})) as running:
        assert running.read(1, time.monotonic() + 20) == b"x"
        running.pause()
        assert running.kill().signal is not None
        with pytest.raises(JobEnded):
            running.pause()
        running.resume()


def test_a_job_that_ended_meanwhile_is_no_trouble(sandbox: Sandbox):
    with sandbox.start(python_job("")) as running:
        with pytest.raises(JobEnded):
            running.read(1, time.monotonic() + 20)
        running.pause()
        running.resume()
        assert running.kill().exit_code == 0
