"""The gauge of the machine: what it makes of readings, and that real ones show who else computes."""

import os
import subprocess
import sys
import threading
import time

import pytest

from runner.calm import Gauge, Machine, Reading, seconds_to_compute
from wire.verdict import CALM


def reading(*seconds):
    """What measures these, then the last of them for ever."""
    left = list(seconds)
    return lambda: left.pop(0) if len(left) > 1 else left[0]


def test_a_slowdown_is_measured_against_the_best_reading():
    gauge, measure = Gauge(), reading(2.0, 1.0, 3.0)
    assert [gauge.read(measure) for _ in range(3)] == [2.0, 1.0, 3.0]
    assert gauge.slowdown(3.0) == 3.0
    assert gauge.slowdown(1.0) == 1.0


def test_a_machine_that_was_faster_long_ago_is_measured_against_what_it_is_now():
    gauge, measure = Gauge(), reading(1.0, 2.0)
    for _ in range(3000):
        gauge.read(measure)
    assert gauge.slowdown(2.0) == 1.0


def test_a_call_waits_until_the_machine_is_calm():
    gauge, measure = Gauge(), reading(1.0, CALM + 0.1, 5.0, 1.1)
    gauge.read(measure)
    assert gauge.wait(measure, time.monotonic() + 60) == 1.1


def test_a_call_waits_no_longer_than_it_may():
    gauge, measure = Gauge(), reading(1.0, 2.0)
    gauge.read(measure)
    assert gauge.wait(measure, time.monotonic() - 1) == 2.0


def test_a_machine_is_as_slow_as_what_is_slowest():
    machine = Machine()
    machine.computing.read(lambda: 1.0)
    machine.meeting.read(lambda: 2.0)
    assert machine.slowdown(Reading(1.5, 2.2)) == 1.5
    assert machine.slowdown(Reading(1.5, 5.0)) == 2.5


def test_the_processors_of_this_machine_are_read_without_binding_the_judge_to_one():
    before, threads = os.sched_getaffinity(0), threading.active_count()
    assert 0 < seconds_to_compute() < 60
    assert os.sched_getaffinity(0) == before
    assert threading.active_count() == threads


@pytest.mark.parametrize("programs", [1, 4])
def test_others_who_compute_here_are_seen(programs):
    """On each processor one that takes turns with what is timed, or several."""
    best = min(seconds_to_compute() for _ in range(50))
    busy = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"])
        for _ in range(programs * len(os.sched_getaffinity(0)))
    ]
    try:
        deadline = time.monotonic() + 60
        seen = 0
        while seen < 20:
            seen += seconds_to_compute() > CALM * best
            time.sleep(0.01)
            assert time.monotonic() < deadline, "nothing was seen of programs that always compute"
    finally:
        for program in busy:
            program.kill()
            program.wait()
