"""A runner says who it is: at start, with each beat, and when it stops.

The site has no list of runners: it knows those that announce themselves. A process of the worker that
judges does it, so that what is heard of is what can judge.
"""

from __future__ import annotations

import logging
import os
import platform
import re
import socket
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from celery import Celery
from celery.signals import celeryd_after_setup, worker_process_init, worker_shutdown

from runner.hardware import cpu_model
from wire.announcements import ANNOUNCE_TASK, Announcement
from wire.broker import BROKER_ERRORS
from wire.messages import RESULTS_QUEUE, judge_queue
from wire.pace import BEAT_SECONDS
from wire.version import VERSION

log = logging.getLogger(__name__)

_DRIVER = Path("/sys/module/nvidia/version")
_GPUS = Path("/proc/driver/nvidia/gpus")
_PACKAGES = ("torch", "triton")
_QUEUE_PREFIX = judge_queue("")


class Announcer:
    """Announces one worker. `isolation` names its sandbox; it is asked only where jobs are judged."""

    def __init__(self, app: Celery, isolation: Callable[[], str]) -> None:
        self._app = app
        self._isolation = isolation
        self._name = ""
        self._hardware: tuple[str, ...] = ()
        self._over = threading.Event()
        self._was_heard = True

    def follow_worker(self) -> None:
        """From now on announce whatever worker this process becomes."""
        celeryd_after_setup.connect(self._take_name, weak=False)
        worker_process_init.connect(self._begin, weak=False)
        worker_shutdown.connect(self._say_goodbye, weak=False)

    @property
    def process_name(self) -> str:
        """The runner's name and which of its processes this is."""
        return f"{self._name or socket.gethostname()}:{os.getpid()}"

    def _take_name(self, sender: str, instance: Any, **_: object) -> None:
        self._name = sender
        self._hardware = served_hardware(instance.app.amqp.queues.consume_from)

    def _begin(self, **_: object) -> None:
        """In each process that judges: a thread there, since threads do not survive a fork."""
        if self._hardware:
            announcement = describe(self._name, self._hardware, self._isolation())
            threading.Thread(target=self._beat, args=(announcement,), daemon=True).start()

    def _beat(self, announcement: Announcement) -> None:
        self._send(announcement)
        while not self._over.wait(BEAT_SECONDS):
            self._send(announcement)

    def _say_goodbye(self, **_: object) -> None:
        self._over.set()
        if self._hardware:
            self._send(replace(describe(self._name, self._hardware, ""), leaving=True))

    def _send(self, announcement: Announcement) -> None:
        try:
            self._app.send_task(
                ANNOUNCE_TASK,
                args=[announcement.to_json()],
                queue=RESULTS_QUEUE,
                retry=False,
                ignore_result=True,
            )
        except BROKER_ERRORS as error:
            if self._was_heard:
                log.warning("could not announce this runner; going on trying: %s", error)
            self._was_heard = False
        else:
            self._was_heard = True


def served_hardware(queues: Any) -> tuple[str, ...]:
    """The kinds of hardware whose queues are among those that a worker listens to."""
    return tuple(
        name.removeprefix(_QUEUE_PREFIX) for name in queues if name.startswith(_QUEUE_PREFIX)
    )


def describe(name: str, hardware: tuple[str, ...], isolation: str) -> Announcement:
    """What there is to say of a runner on this machine."""
    return Announcement(
        name=name,
        hardware=hardware,
        machine=socket.gethostname(),
        cpu=cpu_model(),
        gpu=gpu_models(),
        driver=gpu_driver(),
        versions=versions(),
        isolation=isolation,
        backpass=VERSION,
    )


@cache
def versions() -> dict[str, str]:
    """Of Python and of those packages that are here; nothing is imported for it."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


@cache
def gpu_models(gpus: Path = _GPUS) -> str:
    """The NVIDIA devices as their driver names them, each name once; empty without any.

    Read from files: asking CUDA would take memory of the device for as long as the runner lives.
    """
    names = {
        line.partition(":")[2].strip()
        for file in gpus.glob("*/information")
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines()
        if line.startswith("Model:")
    }
    return ", ".join(sorted(names))


@cache
def gpu_driver(version: Path = _DRIVER) -> str:
    """The version of the NVIDIA driver; empty without one."""
    try:
        text = version.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    found = re.match(r"[\w.-]+", text)
    return found[0] if found else ""
