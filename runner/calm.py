"""Whether the machine computes as fast as it can just now.

Processors are shared: with other programs and, on a rented machine, with strangers, whose work on the
other half of a core shows in nothing but slower arithmetic here. The same kernel then takes half as long
again, for seconds or minutes. So a fixed piece of arithmetic is timed on all processors at once, just
before and after a timed call; how much longer than at its best it takes says what that call is worth.
Programs that wait for one of these processors do not slow down what is over before their turn comes:
they are counted instead. No submission runs meanwhile, so none can have a say in it.
"""

from __future__ import annotations

import os
import statistics
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
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


class _Processor:
    """One processor, and a thread bound to it."""

    def __init__(self, number: int) -> None:
        self._thread = ThreadPoolExecutor(
            1, f"processor-{number}", os.sched_setaffinity, (0, {number})
        )
        self._results = np.empty_like(_NUMBERS)

    def begin(self) -> Callable[[], float]:
        """Start computing; what is returned waits, and tells the seconds of the median piece."""
        return self._thread.submit(self._compute).result

    def _compute(self) -> float:
        times = []
        for _ in range(_PIECES):
            begin = time.perf_counter()
            np.exp(_NUMBERS, out=self._results)
            times.append(time.perf_counter() - begin)
        return statistics.median(times)


class Gauge:
    """Readings of one machine. `read_seconds` takes one, which is how long its arithmetic took."""

    def __init__(self, read_seconds: Callable[[], float]) -> None:
        self._read_seconds = read_seconds
        self._recent: deque[float] = deque(maxlen=_RECENT)

    def read(self) -> float:
        """Seconds that the arithmetic takes now."""
        seconds = self._read_seconds()
        self._recent.append(seconds)
        return seconds

    def slowdown(self, seconds: float) -> float:
        """How many times longer than at its best the machine took when it read `seconds`."""
        return max(seconds / min(self._recent), 1.0)

    def wait(self, deadline: float) -> float:
        """Read until the machine is calm or `time.monotonic()` is past `deadline`; the last reading."""
        while self.slowdown(seconds := self.read()) > CALM and time.monotonic() < deadline:
            time.sleep(_PAUSE)
        return seconds


def _others_running() -> int:
    """How many threads of this machine want a processor now, besides the one that asks (proc(5))."""
    running = _LOAD.read_text(encoding="ascii").split()[3].partition("/")[0]
    return max(int(running) - 1, 0)


@cache
def this_machine() -> Gauge:
    """The gauge of all processors that this process may use, at once: the slowest counts, as it would be
    if the others that want to run had their share of them."""
    processors = [_Processor(number) for number in sorted(os.sched_getaffinity(0))]

    def read_seconds() -> float:
        share = 1 + _others_running() / len(processors)
        return share * max(seconds() for seconds in [p.begin() for p in processors])

    return Gauge(read_seconds)
