"""What runners say of themselves, entered: bounded, checked, the latest word."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from tests.web.runners.announcing import announce, announcement, listen
from web.runners import services
from web.runners.models import Listening, Runner
from web.runners.queries import Presence, absent, live_runners, presence
from web.runners.services import note_listening, record_announcement
from wire.pace import LEASE_SECONDS

pytestmark = pytest.mark.django_db


def test_a_runner_is_known_once_it_announced_itself() -> None:
    runner = announce(gpu="NVIDIA H200", driver="570.86")
    assert (runner.hardware, runner.gpu, runner.driver) == (
        ["cpu", "interpreter"],
        "NVIDIA H200",
        "570.86",
    )
    assert runner.versions == {"python": "3.11.7", "torch": "2.13.0"}
    assert live_runners("cpu") == live_runners("interpreter") == 1
    assert live_runners("h200") == 0


def test_the_latest_word_of_a_name_stands() -> None:
    first = announce(ago=20)
    second = announce(hardware=["cpu"], versions={"torch": "2.14"})
    assert second.pk == first.pk
    assert second.first_heard == first.first_heard
    assert second.last_heard > first.last_heard
    assert (second.hardware, second.versions) == (["cpu"], {"torch": "2.14"})


def test_a_silent_runner_is_away_and_a_beat_brings_it_back() -> None:
    announce(ago=LEASE_SECONDS + 1)
    assert live_runners("cpu") == 0
    announce()
    assert live_runners("cpu") == 1


def test_a_runner_that_says_goodbye_is_away_at_once_and_keeps_what_it_said() -> None:
    announce()
    runner = announce(leaving=True, isolation="", versions={})
    assert live_runners("cpu") == 0
    assert (runner.isolation, runner.versions["torch"]) == ("namespaces", "2.13.0")
    announce()
    assert live_runners("cpu") == 1


@pytest.mark.parametrize(
    "raw",
    [
        None,
        "judge",
        [],
        {},
        announcement("  "),
        announcement() | {"name": 7},
        announcement(hardware=[]),
        announcement(hardware="cpu"),
        announcement(hardware=[""]),
        announcement(hardware=["cpu"] * 17),
        announcement(versions={f"p{n}": "1" for n in range(17)}),
        announcement(versions=[["torch", "2"]]),
        announcement(versions={"torch": 2}),
        announcement(cpu=None),
        {k: v for k, v in announcement().items() if k != "isolation"},
    ],
)
def test_what_is_no_announcement_is_dropped(raw: Any) -> None:
    assert not record_announcement(raw)
    assert not Runner.objects.exists()


def test_text_is_cut_and_made_storable() -> None:
    runner = announce(machine="x" * 10_000, cpu="a\0b\ud800\n\x1b[31m\u202ec", extra="ignored")
    assert len(runner.machine) == 200
    assert runner.cpu == "a b   [31m c"


def test_runners_of_long_ago_are_forgotten_when_a_new_one_comes() -> None:
    announce("old", ago=timedelta(days=3).total_seconds())
    announce("new")
    assert [runner.name for runner in Runner.objects.all()] == ["new"]


def test_there_is_room_for_so_many_runners_and_known_ones_are_heard_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(services, "MOST_RUNNERS", 2)
    announce("a")
    announce("b")
    assert not record_announcement(announcement("c"))
    assert record_announcement(announcement("a"))


def test_listening_goes_on_until_there_is_a_gap() -> None:
    note_listening()
    first = Listening.objects.get()
    note_listening()
    again = Listening.objects.get()
    assert again.since == first.since
    assert again.until > first.until
    Listening.objects.update(until=timezone.now() - timedelta(seconds=LEASE_SECONDS + 1))
    note_listening()
    assert Listening.objects.get().since > again.until


KINDS = ["cpu", "interpreter"]


def test_nothing_is_known_before_the_site_has_listened_for_long_enough() -> None:
    assert presence(KINDS) == dict.fromkeys(KINDS, Presence.UNKNOWN)
    listen(since=LEASE_SECONDS - 5)
    assert presence(KINDS) == dict.fromkeys(KINDS, Presence.UNKNOWN)
    assert absent(KINDS) == []


def test_who_has_listened_for_longer_knows_that_nobody_is_there() -> None:
    listen(since=LEASE_SECONDS + 1)
    assert absent(KINDS) == KINDS
    announce(hardware=["cpu"])
    assert presence(KINDS) == {"cpu": Presence.UP, "interpreter": Presence.AWAY}


def test_while_nobody_listens_a_silence_means_nothing() -> None:
    """The worker that records what runners say is down: they may be well."""
    announce(ago=60)
    listen(since=1000, until=LEASE_SECONDS + 1)
    assert absent(KINDS) == []


def test_presence_costs_two_queries_whatever_there_is(django_assert_num_queries: Any) -> None:
    for number in range(20):
        announce(f"r{number}")
    with django_assert_num_queries(2):
        presence(KINDS)
