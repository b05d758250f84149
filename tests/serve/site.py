"""A whole site for tests: the real supervisor on a free port, its data in a folder of its own."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import psutil

ROOT = Path(__file__).resolve().parents[2]
# Far beyond what it takes, also on a busy machine: waiting ends when the thing waited for is there.
PATIENCE = 120.0

Seen = TypeVar("Seen")


def wait_for(look: Callable[[], Seen], what: str, seconds: float = PATIENCE) -> Seen:
    """The first true answer of `look`; an assertion error naming `what` when none comes."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if seen := look():
            return seen
        time.sleep(0.1)
    raise AssertionError(f"waited {seconds:.0f} s in vain for {what}")


class Site:
    """`python -m web.serve` as an operator starts it. A context manager that stops it.

    `below` is a command that starts it, on a machine that lacks something.
    """

    def __init__(
        self, data: Path, *arguments: str, port: int = 0, below: Sequence[str] = ()
    ) -> None:
        self.data = data
        environment = os.environ | {"BACKPASS_DATA": str(data)}
        for name in ("DATABASE_URL", "REDIS_URL", "DJANGO_SETTINGS_MODULE", "BACKPASS_SANDBOX"):
            environment.pop(name, None)
        self.process = subprocess.Popen(
            [*below, sys.executable, "-m", "web.serve", "--port", str(port), *arguments],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.output: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        self.output.extend(iter(self.process.stdout.readline, ""))

    @property
    def said(self) -> str:
        return "".join(list(self.output))

    def wait_until_it_says(self, words: str) -> str:
        def look() -> bool:
            return words in self.said or self.process.poll() is not None

        wait_for(look, f"{words!r}; so far it said:\n{self.said}")
        assert words in self.said, f"it ended and never said {words!r}:\n{self.said}{self.logs()}"
        return self.said

    def address(self) -> str:
        """Where it is, once it says that everything answers."""
        said = self.wait_until_it_says("Backpass is at ")
        found = re.search(r"Backpass is at (http://\S+)/", said)
        assert found
        return found[1]

    def logs(self) -> str:
        return "".join(
            f"\n== {log.name}\n{log.read_text()}" for log in self.data.glob("logs/*.log")
        )

    def processes(self) -> list[psutil.Process]:
        """Everything that runs for this site, the outermost process included."""
        try:
            outer = psutil.Process(self.process.pid)
            return [outer, *outer.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def find(self, *words: str) -> psutil.Process | None:
        """The first process (from the outermost inwards) with all `words` in its command line."""
        for process in self.processes():
            try:
                line = " ".join(process.cmdline())
            except psutil.NoSuchProcess:
                continue
            if all(word in line for word in words):
                return process
        return None

    def get(self, *words: str) -> psutil.Process:
        found = wait_for(lambda: self.find(*words), f"a process with {words}")
        assert found
        return found

    def supervisor(self) -> psutil.Process:
        """The inner of the two processes that stand over the services."""
        return psutil.Process(self.process.pid).children()[0]

    def stop(self, number: signal.Signals = signal.SIGINT) -> int:
        """Send `number`, wait for the end, return the exit code."""
        self.process.send_signal(number)
        return self.wait()

    def wait(self) -> int:
        code = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        return code

    def rows(self, query: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """What the site's database answers, read from outside."""
        with closing(sqlite3.connect(f"file:{self.data}/db.sqlite3?mode=ro", uri=True)) as database:
            return database.execute(query, parameters).fetchall()

    def __enter__(self) -> Site:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.stop()


def still_running(processes: list[psutil.Process]) -> list[str]:
    """Those that have not ended. A psutil process is a pid and its start, so no stranger is meant."""
    alive = []
    for process in processes:
        try:
            if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
                alive.append(" ".join(process.cmdline()) or process.name())
        except psutil.NoSuchProcess:
            continue
    return alive
