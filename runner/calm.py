"""Whether the machine is as fast as it can be just now.

Processors are shared: with other programs and, on a rented machine, with strangers, whose work on the
other half of a core shows in nothing but slower arithmetic here. The same kernel then takes half as long
again, for seconds or minutes. So a fixed piece of arithmetic is timed on all processors at once, just
before and after a timed call; how much longer than at its best it takes says what that call is worth.
Programs that wait for one of these processors do not slow down what is over before their turn comes:
they are counted instead. No submission runs meanwhile, so none can have a say in it.

A host may also move its guests' processors apart. Then each computes as before, but their threads take
longer to hear of each other, and a kernel of many small parallel parts takes half as long again, while
one that is bound by memory may gain. So the baseline's process, whose threads are bound as the
submission's are, has them meet before and after every round.
"""

from __future__ import annotations

import os
import statistics
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np

from wire.verdict import CALM

# Readings among which the best is looked for: those of some ten submissions. A machine that has become
# slower for good, by heat for one, is not held against what it once could do.
_RECENT = 2000
_PAUSE = 0.02
_PIECES = 9
_LOAD = Path("/proc/loadavg")
# Both arrays lie in the core's own cache: how busy the memory is makes no difference.
_NUMBERS = np.linspace(-4.0, 4.0, 1 << 16, dtype=np.float32)


def _compute(number: int, seconds: list[float]) -> None:
    """Add the seconds of a median piece on processor `number` to `seconds`."""
    os.sched_setaffinity(0, {number})  # of this thread alone
    results, times = np.empty_like(_NUMBERS), []
    for _ in range(_PIECES):
        begin = time.perf_counter()
        np.exp(_NUMBERS, out=results)
        times.append(time.perf_counter() - begin)
    seconds.append(statistics.median(times))


def seconds_to_compute() -> float:
    """Seconds of the arithmetic on all processors that this process may use, at once: those of the
    slowest, as they would be if the others that want to run had their share of them."""
    numbers, seconds = os.sched_getaffinity(0), list[float]()
    share = 1 + _others_running() / len(numbers)
    threads = [threading.Thread(target=_compute, args=(number, seconds)) for number in numbers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return share * max(seconds)


def _others_running() -> int:
    """How many threads of this machine want a processor now, besides the one that asks (proc(5))."""
    running = _LOAD.read_text(encoding="ascii").split()[3].partition("/")[0]
    return max(int(running) - 1, 0)


class Gauge:
    """Readings of one kind; what they are of is measured by whoever is given to `read`."""

    def __init__(self) -> None:
        self._recent: deque[float] = deque(maxlen=_RECENT)

    def read(self, measure: Callable[[], float]) -> float:
        """The seconds that `measure` tells now."""
        seconds = measure()
        self._recent.append(seconds)
        return seconds

    def slowdown(self, seconds: float) -> float:
        """How many times longer than at its best what took `seconds` has taken."""
        return max(seconds / min(self._recent), 1.0)

    def wait(self, measure: Callable[[], float], deadline: float) -> float:
        """Read until all is calm or `time.monotonic()` is past `deadline`; the last reading."""
        while self.slowdown(seconds := self.read(measure)) > CALM and time.monotonic() < deadline:
            time.sleep(_PAUSE)
        return seconds


@dataclass(frozen=True)
class Reading:
    """What the machine was like in one round, at its worst; seconds of the arithmetic and of the
    meetings."""

    computing: float
    meeting: float


@dataclass(frozen=True)
class Machine:
    """What is known of one machine from all readings. Meetings are those of a process that is timed."""

    seconds_to_compute: Callable[[], float] = seconds_to_compute
    computing: Gauge = field(default_factory=Gauge)
    meeting: Gauge = field(default_factory=Gauge)

    def slowdown(self, reading: Reading) -> float:
        """How many times longer than at its best what is slowest has taken."""
        return max(
            self.computing.slowdown(reading.computing), self.meeting.slowdown(reading.meeting)
        )


@cache
def this_machine() -> Machine:
    """The machine that this process runs on."""
    return Machine()
