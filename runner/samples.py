"""What rounds of timed calls say: how long the work took, what a call costs besides, how sure that is.

One round is a call of the submission and one of the baseline on the same inputs. What the command, the
answer and the handing over cost is known from an honest process and is taken off.
"""

from __future__ import annotations

import math
import secrets
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

from problems.pairs import Saved, bytes_of
from problems.spec import Tensors
from runner.calm import Machine, Reading
from runner.session import Returned
from wire.verdict import CALM

# Stop when the standard error of both medians is below this share of them.
RELATIVE_ERROR = 0.02
CHECKED_ROUNDS = 2
# The clocks may differ by this share, and by this much in seconds, besides the spread of the overhead
# on either side. How far a submission's own overhead may spread is bounded: nobody buys an excuse.
CLOCK_SHARE = 0.05
MOST_SPREAD = 0.2
CLOCK_SECONDS = 100e-6
_LEAST_TIME = 1e-9


@dataclass
class Samples:
    """The calls of one function, or of a pair's two as one; seconds."""

    wall: list[float] = field(default_factory=list)
    reported: list[float] = field(default_factory=list)

    def add(self, returned: Returned) -> None:
        self.wall.append(returned.wall)
        self.reported.append(returned.reported)

    def only(self, kept: Sequence[int]) -> Samples:
        """The calls of these numbers."""
        return Samples([self.wall[i] for i in kept], [self.reported[i] for i in kept])

    def overheads(self) -> list[float]:
        """Seconds of each call outside what the process says that the work took."""
        return [w - r for w, r in zip(self.wall, self.reported, strict=True)]

    def settled(self) -> bool:
        """The median is known within RELATIVE_ERROR (standard error of a median: 1.2533 s / sqrt n)."""
        error = 1.2533 * statistics.stdev(self.wall) / math.sqrt(len(self.wall))
        return error < RELATIVE_ERROR * statistics.median(self.wall)


@dataclass
class Rounds:
    """Samples of the submission and the baseline from the same rounds.

    `handing_over` has what an honest process needed besides the work to hand over what the submission
    did: the baseline's own overhead, where both hand over the same.
    """

    ours: Samples = field(default_factory=Samples)
    theirs: Samples = field(default_factory=Samples)
    handing_over: list[float] = field(default_factory=list)

    def add(self, ours: Returned, theirs: Returned, handing_over: float | None = None) -> None:
        self.ours.add(ours)
        self.theirs.add(theirs)
        own = theirs.wall - theirs.reported
        self.handing_over.append(own if handing_over is None else handing_over)

    def only(self, kept: Sequence[int]) -> Rounds:
        """The rounds of these numbers."""
        handing_over = [self.handing_over[i] for i in kept]
        return Rounds(self.ours.only(kept), self.theirs.only(kept), handing_over)

    def times(self) -> list[float]:
        overhead = statistics.median(self.handing_over)
        return [max(wall - overhead, _LEAST_TIME) for wall in self.ours.wall]

    def baseline_times(self) -> list[float]:
        overhead = statistics.median(self.theirs.overheads())
        return [wall - overhead for wall in self.theirs.wall]

    def clocks_differ(self) -> bool:
        median = statistics.median(self.times())
        reported = statistics.median(self.ours.reported)
        return abs(reported - median) > self.uncertainty()

    def uncertainty(self) -> float:
        median = statistics.median(self.times())
        own_spread = min(spread(self.ours.overheads()), MOST_SPREAD * median)
        return CLOCK_SHARE * median + spread(self.handing_over) + own_spread + CLOCK_SECONDS


@dataclass
class Measured:
    """One pair of processes on one shape: both functions of a pair as one, and `forward` by itself."""

    whole: Rounds = field(default_factory=Rounds)
    forward: Rounds = field(default_factory=Rounds)
    readings: list[Reading] = field(default_factory=list)
    saved: Saved | None = None

    def add(
        self, ours: Returned, theirs: Returned, handing_over: float | None, reading: Reading
    ) -> None:
        """`handing_over` is what an honest process needs to hand over what our `forward` did; `reading`
        is of the machine in that round."""
        self.readings.append(reading)
        if ours.forward is None or theirs.forward is None or handing_over is None:
            self.whole.add(ours, theirs)
            return
        own = theirs.forward.wall - theirs.forward.reported
        self.whole.add(ours, theirs, theirs.wall - theirs.reported - own + handing_over)
        self.forward.add(ours.forward, theirs.forward, handing_over)
        if self.saved is None or bytes_of(ours.saved or ()) > bytes_of(self.saved):
            self.saved = ours.saved

    @property
    def calls(self) -> int:
        return len(self.readings)

    def calm_calls(self, machine: Machine) -> int:
        """In how many rounds `machine` was calm."""
        return sum(machine.slowdown(reading) <= CALM for reading in self.readings)

    def calm(self, machine: Machine, fewest: int) -> Measured:
        """Only the rounds in which `machine` was calm; the `fewest` calmest if there are no more."""
        slowdowns = [machine.slowdown(reading) for reading in self.readings]
        calmest = sorted(range(self.calls), key=slowdowns.__getitem__)
        kept = sorted(calmest[: max(self.calm_calls(machine), fewest)])
        return Measured(
            self.whole.only(kept),
            self.forward.only(kept) if self.forward.handing_over else Rounds(),
            [self.readings[number] for number in kept],
            self.saved,
        )

    def settled(self) -> bool:
        return self.whole.ours.settled() and self.whole.theirs.settled()


@dataclass(frozen=True)
class Checked:
    """What went in and came out of a timed call."""

    arguments: Tensors
    returned: Returned


class Drawn:
    """CHECKED_ROUNDS rounds, every one offered with the same chance (reservoir sampling: Vitter,
    *Random sampling with a reservoir*, 1985)."""

    def __init__(self) -> None:
        self.kept: list[Checked] = []
        self._offered = 0

    def offer(self, one: Checked) -> None:
        self._offered += 1
        if len(self.kept) < CHECKED_ROUNDS:
            self.kept.append(one)
            return
        place = secrets.randbelow(self._offered)
        if place < CHECKED_ROUNDS:
            self.kept[place] = one


def spread(values: list[float]) -> float:
    """The interquartile range."""
    low, _, high = statistics.quantiles(values, n=4)
    return high - low
