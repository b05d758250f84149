"""A service and the process that is it at the moment."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from web.serve.descendants import signal_on_death_of_parent
from web.serve.options import ROOT

FIRST_DELAY = 0.5
LONGEST_DELAY = 30.0
# A process that lived this long was well: its next restart waits no longer than a first one.
WELL_AFTER = 30.0


@dataclass(frozen=True)
class Service:
    """Something to keep running.

    `is_ready` looks at its child. `descriptors` are files it inherits. `grace` is how many seconds it
    has to end when asked to, before it is killed. `needed_to_visit` says that there is no use in
    opening the site before it is ready.
    """

    name: str
    label: str
    argv: tuple[str, ...]
    log: Path
    environment: Mapping[str, str]
    is_ready: Callable[[Child], bool]
    descriptors: tuple[int, ...] = ()
    grace: float = 8.0
    needed_to_visit: bool = True


@dataclass
class Child:
    """The process of a service: started, watched, started again when it dies."""

    service: Service
    process: subprocess.Popen[bytes] | None = None
    ready: bool = False
    failures: int = 0
    log_start: int = 0
    start_at: float = field(default_factory=time.monotonic)
    _started_at: float = 0.0

    def start(self) -> None:
        """Start the process in a session of its own, its output going to the log."""
        service, supervisor = self.service, os.getpid()

        def in_child() -> None:
            signal_on_death_of_parent(signal.SIGKILL, supervisor)
            signal.pthread_sigmask(signal.SIG_SETMASK, ())

        self.log_start = service.log.stat().st_size if service.log.exists() else 0
        with service.log.open("ab") as log:
            self.process = subprocess.Popen(
                service.argv,
                cwd=ROOT,
                env=dict(service.environment),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=service.descriptors,
                preexec_fn=in_child,  # noqa: PLW1509 - this process has one thread only
            )
        self._started_at = time.monotonic()

    def check_ready(self) -> bool:
        """Whether it became ready just now."""
        if self.ready or self.process is None or not self.service.is_ready(self):
            return False
        self.ready = True
        return True

    def check_ended(self) -> str | None:
        """How the process ended, if it has since the last look; the next start is then planned."""
        if self.process is None or (code := self.process.poll()) is None:
            return None
        now = time.monotonic()
        self.failures = 1 if now - self._started_at > WELL_AFTER else self.failures + 1
        self.start_at = now + min(FIRST_DELAY * 2 ** (self.failures - 1), LONGEST_DELAY)
        self.process, self.ready = None, False
        return f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def signal(self, number: signal.Signals) -> None:
        if self.process is not None and self.is_running:
            self.process.send_signal(number)


def answers(listener: socket.socket, path: str) -> Callable[[Child], bool]:
    """Ready when the web server behind `listener` answers `path` with 200."""
    host, port = listener.getsockname()[:2]

    def ask(_child: Child) -> bool:
        # Connecting to the wildcard address reaches this machine.
        connection = http.client.HTTPConnection(host, port, timeout=0.5)
        try:
            connection.request("GET", path, headers={"Host": "localhost"})
            return connection.getresponse().status == http.client.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    return ask


def log_says(words: bytes) -> Callable[[Child], bool]:
    """Ready when the log has `words` since the process started."""

    def look(child: Child) -> bool:
        with child.service.log.open("rb") as log:
            log.seek(child.log_start)
            return words in log.read()

    return look
