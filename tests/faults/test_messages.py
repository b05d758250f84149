"""Messages that come twice, in any order, or are none of ours."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import pytest
import redis
from kombu import Connection

from tests.faults.ledger import Ledger
from tests.faults.site import Site
from tests.serve.site import wait_for
from tests.servers import RedisServer


def double_and_shuffle(broker: redis.Redis, queue: str, chance: random.Random) -> int:
    """Put every message of a queue into it twice, in any order; how many there were."""
    messages: Any = broker.lrange(queue, 0, -1)
    doubled = [*messages, *messages]
    chance.shuffle(doubled)
    with broker.pipeline() as together:
        together.delete(queue)
        if doubled:
            together.rpush(queue, *doubled)
        together.execute()
    return len(messages)


def test_messages_that_come_twice_and_in_any_order_change_nothing(
    site: Site, ledger: Ledger, redis_server: RedisServer
) -> None:
    broker, chance = redis_server.client(), random.Random(7)
    site.kill("clock")  # a sweep among events in any order would rightly take runners for silent
    site.freeze("results")
    site.start("first")
    for number in range(12):
        ledger.post(f"user{number % 6}")
    doubled = 0

    def round_of_doubling() -> bool:
        nonlocal doubled
        site.freeze("results")
        deadline = (
            time.monotonic() + 3
        )  # shorter than a lease, and nothing comes when all is judged
        while int(broker.llen("results")) < 5 and time.monotonic() < deadline:
            time.sleep(0.05)
        doubled += double_and_shuffle(broker, "results", chance)
        double_and_shuffle(broker, "judge.cpu", chance)
        site.thaw("results")
        wait_for(lambda: broker.llen("results") == 0, "the events to be entered")
        return ledger.all_done()

    wait_for(round_of_doubling, "every verdict")
    assert doubled >= 5
    ledger.check()
    before = ledger.everything()
    wait_for(lambda: broker.llen("judge.cpu") == 0, "the doubled jobs to be judged")
    wait_for(lambda: broker.hlen("unacked") == 0, "the last of them")
    wait_for(lambda: broker.llen("results") == 0, "what runners said of them")
    assert ledger.everything() == before


class Harmful:
    """Writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return (Path.touch, (self.path,))


@pytest.mark.parametrize(
    ("queue", "task"), [("results", "web.record_event"), ("judge.cpu", "runner.judge")]
)
def test_a_pickled_message_is_refused_and_the_next_one_acted_on(
    site: Site, ledger: Ledger, redis_server: RedisServer, tmp_path: Path, queue: str, task: str
) -> None:
    trap = tmp_path / "unpickled"
    site.start("first")
    with Connection(redis_server.url) as connection:
        connection.Producer().publish(
            [[Harmful(trap)], {}, {}],
            routing_key=queue,
            serializer="pickle",
            headers={"task": task, "id": "1", "lang": "py"},
        )
    ledger.post()
    ledger.check()
    reader = "results" if queue == "results" else "first"
    assert "ContentDisallowed" in site.log(reader)
    assert not trap.exists()


BODIES: list[Any] = [
    [[], {}, {}],
    [[{"attempt": "x"}], {}, {}],
    [[7], {}, {}],
    [[{"attempt": "x", "kind": "beat", "seq": 1, "data": {}}], {}, {}],
]
# Where Celery looks for arguments, and what it expects in headers.
NO_ARGUMENTS: list[Any] = [
    7,
    "text",
    None,
    [],
    [1, 2],
    [[], {}],
    [7, {}, {}],
    [[], 7, {}],
    [[], {}, 7],
    [[], {}, {"chain": [7]}],
    {},
]
HEADERS: list[dict[str, Any]] = [
    {"task": ["runner.judge"]},
    {"task": {"a": 1}},
    {"task": None},
    {"id": None},
    {"id": ["1"]},
    {"timelimit": 7},
    {"timelimit": ["x", "y"]},
    {"retries": "x"},
    {"eta": 7},
    {"expires": {}},
    {"stamped_headers": 7},
    {"chord": 7},
    {"root_id": 7},
    {"group": {}},
    {"origin": []},
]


def test_messages_that_make_no_sense_stop_nobody(
    site: Site, ledger: Ledger, redis_server: RedisServer
) -> None:
    site.start("first")
    with Connection(redis_server.url) as connection:
        producer = connection.Producer()

        def publish(queue: str, body: Any, headers: dict[str, Any]) -> None:
            producer.publish(body, routing_key=queue, serializer="json", headers=headers)

        for queue, task in (("results", "web.record_event"), ("judge.cpu", "runner.judge")):
            for name in ("runner.judge", "web.record_event", "web.sweep", "nobody.knows"):
                for body in BODIES:
                    publish(queue, body, {"task": name, "id": "1", "lang": "py"})
            for body in NO_ARGUMENTS:
                publish(queue, body, {"task": task, "id": "1", "lang": "py"})
                publish(queue, body, {})
            for headers in HEADERS:
                publish(queue, BODIES[0], {"task": task, "id": "1", "lang": "py"} | headers)
    ledger.post()
    ledger.check()
    broker = redis_server.client()
    wait_for(lambda: not any(map(broker.llen, ("results", "judge.cpu"))), "every one to be refused")
    for name in ("results", "first"):
        assert site.tree(name)[0].is_running()
        assert "refused a message" in site.log(name)
