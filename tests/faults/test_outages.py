"""Servers that freeze, end, forget everything and come back while submissions come in and are judged."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from tests.faults.ledger import Ledger
from tests.faults.site import USERS, Site
from tests.serve.site import wait_for
from tests.servers import PostgresServer, RedisServer
from wire.messages import Phase

Outage = Callable[[RedisServer], None]


def freeze(server: RedisServer) -> None:
    server.signal(signal.SIGSTOP)


def thaw(server: RedisServer) -> None:
    server.signal(signal.SIGCONT)


@pytest.mark.parametrize(
    ("begin", "end", "seconds", "count"),
    [(freeze, thaw, 20, 50), (RedisServer.kill, RedisServer.start, 5, 20)],
    ids=["frozen", "ended"],
)
def test_submissions_posted_while_redis_is_away_are_taken_and_judged_when_it_is_back(
    site: Site,
    ledger: Ledger,
    redis_server: RedisServer,
    begin: Outage,
    end: Outage,
    seconds: float,
    count: int,
) -> None:
    site.start("first")
    users = [f"user{number % USERS}" for number in range(count)]
    with ThreadPoolExecutor(8) as people:
        for user in users[:5]:
            ledger.post(user)
        begin(redis_server)
        back_at = time.monotonic() + seconds
        try:
            list(people.map(ledger.post, users[5:-5]))
            time.sleep(max(back_at - time.monotonic(), 0))
        finally:
            end(redis_server)
        list(people.map(ledger.post, users[-5:]))
    ledger.check()


def test_a_broker_that_forgets_everything_costs_no_submission(
    site: Site, ledger: Ledger, redis_server: RedisServer
) -> None:
    site.hold("first", Phase.TIMING)
    site.start("first")
    first = ledger.post("user0")
    ledger.wait_for_phase(first, Phase.TIMING)
    for number in range(1, 6):
        ledger.post(f"user{number}")
    redis_server.client().flushall()
    site.release("first", Phase.TIMING)
    wait_for(lambda: ledger.state(first)[0] == "done", "the verdict of what was being judged")
    redis_server.client().flushall()
    ledger.post("user6")
    ledger.check()


@pytest.mark.parametrize("how", [PostgresServer.restart, PostgresServer.crash])
def test_a_database_that_is_started_anew_loses_nothing_that_it_was_told(
    site: Site,
    ledger: Ledger,
    postgres: PostgresServer,
    how: Callable[[PostgresServer], None],
) -> None:
    site.hold("first", Phase.TIMING)
    site.start("first")
    submissions = [ledger.post(f"user{number}") for number in range(4)]
    ledger.wait_for_phase(submissions[0], Phase.TIMING)
    how(postgres)
    site.release("first", Phase.TIMING)
    submissions.append(ledger.post("user5"))
    ledger.check()
    assert [ledger.attempts(submission) for submission in submissions] == [["done"]] * 5


def test_a_verdict_in_the_hands_of_a_killed_results_worker_is_entered_by_the_next(
    site: Site, ledger: Ledger, postgres: PostgresServer, redis_server: RedisServer
) -> None:
    site.hold("first", Phase.TIMING)
    site.start("first")
    submission = ledger.post()
    ledger.wait_for_phase(submission, Phase.TIMING)
    with psycopg.connect(postgres.dsn) as other:
        other.execute(
            "SELECT 1 FROM submissions_submission FOR UPDATE"
        )  # nobody can enter anything
        site.release("first", Phase.TIMING)
        wait_for(lambda: "judged: accepted" in site.log("first"), "the verdict to be sent")
        wait_for(lambda: redis_server.client().hlen("results.unacked") == 1, "a message in hand")
        site.kill("results")
    site.start("results")
    ledger.check()
    assert ledger.attempts(submission) == ["done"]


def test_a_results_worker_killed_again_and_again_enters_every_verdict_once(
    site: Site, ledger: Ledger
) -> None:
    site.start("first")
    for number in range(10):
        ledger.post(f"user{number}")
    for _ in range(2):
        time.sleep(1)
        site.kill("results")
        site.start("results")
    ledger.check()


def test_a_killed_clock_starts_again_from_whatever_its_schedule_file_is(
    site: Site, ledger: Ledger
) -> None:
    site.kill("clock")
    for file in site.folder.glob("beat-schedule*"):
        file.write_bytes(b"half a sched")
    site.start("clock", "first")
    site.kill("first")
    site.start("second")
    ledger.post()
    ledger.check()
