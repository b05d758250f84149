"""What a runner says of itself, and when."""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from celery import Celery
from kombu import Connection, Queue

from runner.announce import Announcer, describe, gpu_driver, gpu_models, served_hardware
from tests.serve.site import ROOT, wait_for
from wire.announcements import ANNOUNCE_TASK, Announcement
from wire.files import SCHEME
from wire.messages import RESULTS_QUEUE
from wire.version import VERSION

Take = Callable[[], list[Announcement]]


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The real worker process of a runner, with a judge that only sleeps."""
    argv = ["celery", "-A", "tests.faults.stub_runner", "worker", "-c", "1", "-n", "judge@here"]
    pace = {"BACKPASS_BEAT_SECONDS": "0.5", "BACKPASS_LEASE_SECONDS": "3"}
    environment = os.environ | pace | {"BACKPASS_DATA": str(tmp_path)}
    environment.pop("REDIS_URL", None)
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", *argv, "-Q", "judge.cpu,judge.h200"],
            cwd=ROOT,
            env=environment,
            stdout=log,
            stderr=log,
        )
    yield process
    process.kill()
    process.wait(60)


@pytest.fixture
def announced(tmp_path: Path) -> Iterator[Take]:
    """Takes the announcements that lie in the queue of results."""
    queue, control = tmp_path / "broker" / "queue", tmp_path / "broker" / "control"
    for folder in (queue, control):
        folder.mkdir(parents=True)
    options = {"data_folder_in": queue, "data_folder_out": queue, "control_folder": control}
    with Connection(f"{SCHEME}://", transport_options=options) as connection:
        results: Any = Queue(RESULTS_QUEUE, channel=connection.default_channel)

        def take() -> list[Announcement]:
            found = []
            while message := results.get(no_ack=True):
                if message.headers["task"] == ANNOUNCE_TASK:
                    (said,), _options, _callbacks = message.payload
                    found.append(Announcement.from_json(said))
            return found

        yield take


def test_a_worker_announces_itself_again_and_again_and_says_goodbye(
    worker: subprocess.Popen[bytes], announced: Take
) -> None:
    first = wait_for(announced, "an announcement")[0]
    assert (first.name, first.hardware, first.leaving) == ("judge@here", ("cpu", "h200"), False)
    assert first.versions["torch"] == metadata.version("torch")
    assert first.versions["python"] == platform.python_version()
    assert (first.isolation, first.backpass) == ("none", VERSION)
    assert first.machine
    assert wait_for(announced, "a beat")[0] == first
    worker.send_signal(signal.SIGTERM)
    said: list[Announcement] = []
    wait_for(
        lambda: said.extend(announced()) or any(one.leaving for one in said),  # type: ignore[func-returns-value]  # extend returns nothing, which is false
        "the goodbye",
    )
    assert said[-1].leaving
    assert said[-1].name == "judge@here"


def test_a_broker_that_is_away_is_told_once_and_no_trouble(
    caplog: pytest.LogCaptureFixture,
) -> None:
    nobody = Celery(broker="redis://127.0.0.1:1/0")
    nobody.conf.broker_transport_options = {"max_retries": 0, "socket_connect_timeout": 1}
    announcer = Announcer(nobody, lambda: "none")
    for _ in range(3):
        announcer._send(describe("judge@here", ("cpu",), "none"))
    assert caplog.text.count("could not announce") == 1


def test_the_hardware_of_a_worker_is_what_its_queues_are_for() -> None:
    assert served_hardware(["judge.cpu", "judge.h200", "results", "celery"]) == ("cpu", "h200")
    assert served_hardware({"results": None}) == ()


def test_a_description_survives_the_way() -> None:
    said = describe("judge@here", ("cpu", "interpreter"), "namespaces")
    assert Announcement.from_json(said.to_json()) == said
    assert said.cpu


def test_gpus_are_named_by_their_driver_each_name_once(tmp_path: Path) -> None:
    for number, model in enumerate(["NVIDIA H200", "NVIDIA H200", "NVIDIA L4"]):
        folder = tmp_path / f"0000:0{number}:00.0"
        folder.mkdir()
        (folder / "information").write_text(f"Model: \t\t {model}\nIRQ:   \t\t 0\n")
    assert gpu_models(tmp_path) == "NVIDIA H200, NVIDIA L4"
    assert gpu_models(tmp_path / "nothing") == ""


@pytest.mark.parametrize(
    ("text", "version"), [("570.86.15\n", "570.86.15"), ("", ""), ("\0junk", "")]
)
def test_the_driver_is_told_by_its_version(tmp_path: Path, text: str, version: str) -> None:
    file = tmp_path / "version"
    file.write_text(text)
    assert gpu_driver(file) == version
    assert gpu_driver(tmp_path / "none") == ""
