"""Whose job is next: the fair line before one kind of hardware.

A broker's queue is first in, first out: five hundred jobs of one person would stand before the first
job of another. So only a window of jobs is with the broker and the runners at a time (`dispatch`), and
the others wait in the database, where each person has a line of their own. Whenever the window has room,
the next job is the oldest one of the person

1. who has the fewest jobs on their way, and among those
2. whose turn is longest ago: when a job of theirs was last sent, or when the oldest that waits came, if
   that is later.

By the second rule people take turns, however many jobs each has. Somebody new counts from when they
came, so that they wait for at most one more job of each person before them, and a stream of newcomers
passes nobody who waits already: nobody starves.

Everything here is arithmetic on counts; `dispatch` reads them from the database, and `queries` foretells
a place in line by playing the same rules forward.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping


class Line:
    """The jobs for one hardware: those on their way, and how many of each person wait.

    A person is any text, the same in all three arguments. `on_the_way` are the people whose jobs are
    with the broker or a runner, the first sent first. `waiting` says how many jobs of a person wait,
    `turns` (seconds, for each who waits) when it was last their turn. Methods change the line.
    """

    def __init__(
        self, on_the_way: Iterable[str], waiting: Mapping[str, int], turns: Mapping[str, float]
    ) -> None:
        self._on_the_way = deque(on_the_way)
        self._counts = Counter(self._on_the_way)
        self._waiting = {person: jobs for person, jobs in waiting.items() if jobs > 0}
        self._turns = {person: turns[person] for person in self._waiting}
        self._latest = max(self._turns.values(), default=0.0)

    def __len__(self) -> int:
        """How many jobs are on their way."""
        return len(self._on_the_way)

    def send(self) -> str | None:
        """Put the next job on its way; whose it is, or None if nobody waits."""
        if not self._waiting:
            return None
        person = min(self._waiting, key=lambda p: (self._counts[p], self._turns[p], p))
        self._latest += 1.0
        self._turns[person] = self._latest
        self._waiting[person] -= 1
        if not self._waiting[person]:
            del self._waiting[person]
        self._on_the_way.append(person)
        self._counts[person] += 1
        return person

    def finish_first(self) -> None:
        """The job that was sent first is judged."""
        self._counts[self._on_the_way.popleft()] -= 1

    def jobs_before(self, person: str, nth: int, window: int, at_most: int) -> int:
        """How many jobs are judged before the `nth` (from 1) that waits of `person`; plays the line on.

        Right if jobs end in the order in which they were sent and nobody comes meanwhile. Counts no
        further than `at_most`.
        """
        before = len(self._on_the_way)
        while before < at_most:
            if len(self._on_the_way) >= window:
                self.finish_first()
            sent = self.send()
            nth -= sent == person
            if sent is None or nth == 0:
                return before
            before += 1
        return at_most
