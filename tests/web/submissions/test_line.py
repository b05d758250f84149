"""The fair line, as arithmetic: whoever has many jobs delays nobody else."""

from __future__ import annotations

import itertools
import random
from collections import deque

import pytest

from web.submissions.line import Line


def order(line: Line, window: int, jobs: int = 10_000) -> list[str]:
    """Whose job is sent, one after the other, when jobs end in the order they were sent."""
    sent: list[str] = []
    while len(sent) < jobs:
        if len(line) >= window:
            line.finish_first()
        if (person := line.send()) is None:
            break
        sent.append(person)
    return sent


@pytest.mark.parametrize("window", [2, 3, 9])
def test_five_hundred_of_one_do_not_delay_anothers_first(window: int) -> None:
    line = Line(["alice"] * window, {"alice": 500, "bob": 1}, {"alice": 10.0, "bob": 20.0})
    assert order(line, window)[0] == "bob"


def test_with_a_window_of_one_they_delay_it_by_one() -> None:
    line = Line(["alice"], {"alice": 500, "bob": 1}, {"alice": 10.0, "bob": 20.0})
    assert order(line, 1)[:3] == ["alice", "bob", "alice"]


@pytest.mark.parametrize("window", [1, 2])
def test_two_people_take_turns(window: int) -> None:
    line = Line([], {"alice": 5, "bob": 5}, {"alice": 1.0, "bob": 2.0})
    assert order(line, window) == ["alice", "bob"] * 5


def test_a_free_window_is_shared_before_anybody_gets_a_second_place() -> None:
    line = Line([], {"alice": 9, "bob": 9, "carol": 9}, {"alice": 3.0, "bob": 1.0, "carol": 2.0})
    assert [line.send() for _ in range(4)] == ["bob", "carol", "alice", "bob"]


def test_somebody_new_does_not_pass_who_waited_longer() -> None:
    line = Line([], {"old": 1, "new": 1}, {"old": 5.0, "new": 6.0})
    assert order(line, 1) == ["old", "new"]


def test_nobody_waits_nobody_is_sent() -> None:
    line = Line(["alice"], {}, {})
    assert line.send() is None
    assert len(line) == 1


def test_a_stream_of_newcomers_starves_nobody() -> None:
    """Every step a newcomer comes; alice's jobs still all get their turn, with few between two."""
    waiting, turns, sent = {"alice": 20}, {"alice": 0.0}, []
    for now in range(1, 200):
        waiting[f"new {now}"], turns[f"new {now}"] = 1, float(now)
        line = Line([], waiting, turns)
        person = line.send()
        assert person
        sent.append(person)
        turns[person] = now + 0.5
        waiting[person] -= 1
    mine = [step for step, person in enumerate(sent) if person == "alice"]
    backlog = 20
    assert len(mine) >= 7
    assert all(later - earlier <= backlog * 2 for earlier, later in itertools.pairwise(mine))


class Site:
    """Runners, a window and people who post, with a step for each job that ends or is lost."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.window = chance.randint(1, 6)
        self.waiting: dict[str, deque[int]] = {}
        self.turns: dict[str, float] = {}
        self.on_the_way: list[str] = []
        self.sent: list[tuple[str, int]] = []
        self.now = 0
        self.numbers = 0

    def post(self, person: str) -> None:
        self.numbers += 1
        queue = self.waiting.setdefault(person, deque())
        if not queue:
            self.turns[person] = max(self.turns.get(person, 0.0), float(self.now))
        queue.append(self.numbers)

    def fill(self) -> None:
        counts = {person: len(jobs) for person, jobs in self.waiting.items()}
        line = Line(self.on_the_way, counts, self.turns)
        while len(line) < self.window and (person := line.send()):
            self.now += 1
            self.on_the_way.append(person)
            self.turns[person] = float(self.now)
            self.sent.append((person, self.waiting[person].popleft()))

    def lose_or_end_one(self) -> None:
        if self.on_the_way:
            self.on_the_way.pop(self.chance.randrange(len(self.on_the_way)))


@pytest.mark.parametrize("seed", range(40))
def test_whatever_happens_nobody_starves_and_the_window_holds(seed: int) -> None:
    chance = random.Random(seed)
    site = Site(chance)
    people = [f"p{n}" for n in range(chance.randint(2, 6))]
    for _ in range(300):
        site.now += 1
        for _ in range(chance.choice([0, 0, 1, 2, 30])):
            site.post(chance.choice([people[0], people[0], *people]))
        site.fill()
        assert len(site.on_the_way) <= site.window
        if len(site.on_the_way) < site.window:
            assert not any(site.waiting.values())  # a free place and a job that waits: never both
        site.lose_or_end_one()
    while any(site.waiting.values()):
        site.fill()
        site.lose_or_end_one()
    for person in people:
        numbers = [number for who, number in site.sent if who == person]
        assert numbers == sorted(numbers)
    assert len(site.sent) == site.numbers


@pytest.mark.parametrize("seed", range(20))
def test_between_two_turns_of_who_waits_everybody_else_has_few(seed: int) -> None:
    """Between two sendings of somebody who always waits, another has no more than two, window aside."""
    chance = random.Random(seed)
    window = chance.randint(1, 4)
    people = {f"p{n}": 60 for n in range(chance.randint(2, 5))}
    turns = {person: chance.random() for person in people}
    sent = order(Line([], people, turns), window)
    for person in people:
        mine = [step for step, who in enumerate(sent) if who == person]
        for earlier, later in itertools.pairwise(mine):
            between = sent[earlier + 1 : later]
            assert all(between.count(other) <= 2 for other in people)


@pytest.mark.parametrize("seed", range(40))
def test_the_place_foretold_is_the_one_that_comes(seed: int) -> None:
    chance = random.Random(seed)
    window = chance.randint(1, 4)
    people = {f"p{n}": chance.randint(1, 8) for n in range(chance.randint(1, 5))}
    turns = {person: chance.random() for person in people}
    on_the_way = [chance.choice([*people, "gone"]) for _ in range(chance.randint(0, window))]
    happens = on_the_way + order(Line(on_the_way, people, turns), window)
    for person, jobs in people.items():
        for nth in range(1, jobs + 1):
            foretold = Line(on_the_way, people, turns).jobs_before(person, nth, window, 1000)
            waiting_turns = [s for s, who in enumerate(happens) if who == person]
            already = on_the_way.count(person)
            assert foretold == waiting_turns[already + nth - 1]


def test_a_place_is_counted_only_so_far() -> None:
    line = Line([], {"alice": 500}, {"alice": 1.0})
    assert line.jobs_before("alice", 400, window=2, at_most=50) == 50
