"""The broker made of files: no half message is ever read, and nobody reads one twice."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from pathlib import Path
from queue import Empty
from typing import Any

import pytest
from kombu import Connection, Queue

from wire.files import SCHEME

# With the default exchange: kombu remembers bindings for the whole process, whatever the folder.
QUEUE: Any = Queue("judge.cpu")


def connect(folder: Path) -> Connection:
    return Connection(
        f"{SCHEME}://localhost",
        transport_options={
            "data_folder_in": str(folder / "queue"),
            "data_folder_out": str(folder / "queue"),
            "control_folder": str(folder / "control"),
        },
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "queue").mkdir()
    (tmp_path / "control").mkdir()
    return tmp_path


@pytest.fixture
def channel(folder: Path) -> Iterator[Any]:
    with connect(folder) as connection:
        QUEUE(connection.default_channel).declare()
        yield connection.default_channel


def publish(folder: Path, count: int) -> None:
    with connect(folder) as connection:
        producer = connection.Producer()
        for number in range(count):
            producer.publish(
                {"number": number, "source": "x" * 20_000},
                routing_key="judge.cpu",
                declare=[QUEUE],
            )


def test_messages_come_in_the_order_they_were_sent(folder: Path, channel: Any) -> None:
    publish(folder, 20)
    numbers = [QUEUE(channel).get(no_ack=True).payload["number"] for _ in range(20)]
    assert numbers == list(range(20))


def test_the_queue_knows_how_many_wait(folder: Path, channel: Any) -> None:
    publish(folder, 3)
    assert QUEUE(channel).queue_declare().message_count == 3


def test_a_file_that_is_no_message_is_dropped_and_the_next_one_read(
    folder: Path, channel: Any
) -> None:
    (folder / "queue" / "0_empty.judge.cpu.msg").touch()
    (folder / "queue" / "1_half.judge.cpu.msg").write_bytes(b'{"body": "\xff')
    publish(folder, 1)
    assert QUEUE(channel).get(no_ack=True).payload["number"] == 0
    assert QUEUE(channel).get() is None


def test_a_queue_gives_only_its_own_messages(folder: Path, channel: Any) -> None:
    publish(folder, 1)
    with pytest.raises(Empty):
        channel._get("cpu")


def read_all(folder: Path, count: int, results: Any) -> None:
    with connect(folder) as connection:
        channel: Any = connection.default_channel
        while True:
            message = channel.basic_get("judge.cpu")
            if message is None:
                if (folder / "done").exists():
                    return
                continue
            results.put(message.payload["number"])
            channel.basic_ack(message.delivery_tag)


def test_two_readers_beside_a_writer_get_every_message_exactly_once(folder: Path) -> None:
    count = 400
    spawn = multiprocessing.get_context("spawn")
    results = spawn.Queue()
    readers = [spawn.Process(target=read_all, args=(folder, count, results)) for _ in range(2)]
    for reader in readers:
        reader.start()
    publish(folder, count)
    (folder / "done").touch()
    tags = [results.get(timeout=60) for _ in range(count)]
    for reader in readers:
        reader.join(timeout=60)
        assert reader.exitcode == 0
    assert results.empty()
    assert len(set(tags)) == count
