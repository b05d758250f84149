"""The gauge of the machine: what it makes of readings, and that real ones show who else computes."""

import os
import subprocess
import sys
import time

import pytest

from runner.calm import Gauge, this_machine
from wire.verdict import CALM


def gauge_of(*seconds):
    """A gauge that reads these, then the last of them for ever."""
    left = list(seconds)
    return Gauge(lambda: left.pop(0) if len(left) > 1 else left[0])


def test_a_slowdown_is_measured_against_the_best_reading():
    gauge = gauge_of(2.0, 1.0, 3.0)
    assert [gauge.read() for _ in range(3)] == [2.0, 1.0, 3.0]
    assert gauge.slowdown(3.0) == 3.0
    assert gauge.slowdown(1.0) == 1.0


def test_a_machine_that_was_faster_long_ago_is_measured_against_what_it_is_now():
    gauge = gauge_of(1.0, 2.0)
    for _ in range(3000):
        gauge.read()
    assert gauge.slowdown(2.0) == 1.0


def test_a_call_waits_until_the_machine_is_calm():
    gauge = gauge_of(1.0, CALM + 0.1, 5.0, 1.1)
    gauge.read()
    assert gauge.wait(time.monotonic() + 60) == 1.1


def test_a_call_waits_no_longer_than_it_may():
    gauge = gauge_of(1.0, 2.0)
    gauge.read()
    assert gauge.wait(time.monotonic() - 1) == 2.0


def test_the_processors_of_this_machine_are_read_without_binding_the_judge_to_one():
    before = os.sched_getaffinity(0)
    seconds = this_machine().read()
    assert 0 < seconds < 60
    assert os.sched_getaffinity(0) == before


@pytest.mark.parametrize("programs", [1, 4])
def test_others_who_compute_here_are_seen(programs):
    """On each processor one that takes turns with what is timed, or several."""
    gauge = this_machine()
    best = min(gauge.read() for _ in range(50))
    busy = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"])
        for _ in range(programs * len(os.sched_getaffinity(0)))
    ]
    try:
        deadline = time.monotonic() + 60
        seen = 0
        while seen < 20:
            seen += gauge.read() > CALM * best
            time.sleep(0.01)
            assert time.monotonic() < deadline, "nothing was seen of programs that always compute"
    finally:
        for program in busy:
            program.kill()
            program.wait()
