"""The broker made of files: no half message is ever read, and nobody reads one twice."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from queue import Empty
from typing import Any

import pytest
from kombu import Connection, Queue

from tests.serve.site import ROOT, wait_for
from wire.files import RECOVERY_SECONDS, SCHEME

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


# --- Readers and writers that are killed


@contextlib.contextmanager
def reader(folder: Path, what: str) -> Iterator[subprocess.Popen[bytes]]:
    program = [sys.executable, "-m", "tests.wire.programs.reader", str(folder), what]
    with subprocess.Popen(program, cwd=ROOT) as process:
        try:
            yield process
        finally:
            process.kill()


def written(folder: Path) -> list[int]:
    path = folder / "written"
    return [int(line) for line in path.read_text().split()] if path.exists() else []


def get_within(channel: Any, seconds: float) -> Any:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if message := channel.basic_get("judge.cpu"):
            return message
        time.sleep(0.05)
    return None


def test_what_a_killed_reader_had_in_hand_comes_again_and_says_so(
    folder: Path, channel: Any
) -> None:
    publish(folder, 2)
    with reader(folder, "hold") as holding:
        wait_for(lambda: written(folder) == [0], "a message in hand")
        assert channel.basic_get("judge.cpu", no_ack=True).payload["number"] == 1
        assert get_within(channel, 2 * RECOVERY_SECONDS) is None  # it is in living hands
        holding.send_signal(signal.SIGSTOP)
        assert get_within(channel, 2 * RECOVERY_SECONDS) is None  # as are those of one that waits
    again = get_within(channel, 60)
    assert again.payload["number"] == 0
    assert again.delivery_info["redelivered"]
    again.ack()
    assert list((folder / "queue").iterdir()) == []


def test_readers_killed_at_any_moment_lose_no_message(folder: Path, channel: Any) -> None:
    count = 150
    publish(folder, count)
    for kill_after in (10, 40, 41, 90):
        with reader(folder, "work"):
            wait_for(lambda after=kill_after: len(written(folder)) >= after, "some to be read")  # type: ignore[misc]  # a lambda, whose type is not inferred
    with reader(folder, "work"):
        wait_for(lambda: set(written(folder)) == set(range(count)), "every message")
        wait_for(lambda: list((folder / "queue").iterdir()) == [], "an empty queue")
    assert len(written(folder)) <= count + 4  # only what was in hand came twice


@pytest.mark.parametrize("content", [b"", b'{"body": "W3', b"\xff\x00"])
def test_what_a_killed_writer_left_is_never_read_and_goes_when_it_is_old(
    folder: Path, channel: Any, content: bytes
) -> None:
    half = folder / "queue" / "00000000000000000001_half.partial"
    half.write_bytes(content)
    publish(folder, 1)
    assert channel.basic_get("judge.cpu", no_ack=True).payload["number"] == 0
    assert half.exists()  # its writer may be at work
    os.utime(half, (0, 0))
    wait_for(lambda: channel.basic_get("judge.cpu") or not half.exists(), "its removal")
    assert not half.exists()


def test_a_message_given_back_keeps_its_place(folder: Path, channel: Any) -> None:
    publish(folder, 3)
    channel.basic_get("judge.cpu").reject(requeue=True)
    numbers = [channel.basic_get("judge.cpu", no_ack=True).payload["number"] for _ in range(3)]
    assert numbers == [0, 1, 2]


def test_a_reader_that_ends_gives_back_what_it_had_not_acted_on(folder: Path, channel: Any) -> None:
    publish(folder, 2)
    with connect(folder) as other:
        ending: Any = other.default_channel
        ending.basic_get("judge.cpu").ack()
        ending.basic_get("judge.cpu")
    assert channel.basic_get("judge.cpu", no_ack=True).payload["number"] == 1
    assert list((folder / "queue").iterdir()) == []


def test_a_full_disk_refuses_messages_whole_and_gives_those_it_has(tmp_path: Path) -> None:
    program = f"""
        mount -t tmpfs -o size=128k,mode=0700 tmpfs {shlex.quote(str(tmp_path))} &&
        exec {shlex.quote(sys.executable)} -m tests.wire.programs.full_disk
    """
    namespaces = ["--mount"] if os.geteuid() == 0 else ["--mount", "--map-root-user"]
    possible = subprocess.run(["unshare", *namespaces, "true"], capture_output=True)
    if possible.returncode:
        pytest.skip("this user may not mount a small disk: neither root nor user namespaces")
    run = subprocess.run(
        ["unshare", *namespaces, "sh", "-c", program],
        cwd=ROOT,
        env={k: v for k, v in os.environ.items() if k != "REDIS_URL"}
        | {"BACKPASS_DATA": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    said = json.loads(run.stdout)
    assert "No space left" in said["filled"]
    assert "No space left" in said["refused"]
    assert said["left"] == [".msg"]
    assert (said["while full"], said["after"]) == ("before", "after")
