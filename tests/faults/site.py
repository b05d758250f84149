"""A site in pieces, each a process of the product that a test can kill, stop and start again."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import urllib.parse
import uuid
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
import psycopg
import redis

from tests.serve.site import ROOT, wait_for

# A site that notices quickly. A lease still has room for the pauses of a busy machine.
PACE = {
    "BACKPASS_BEAT_SECONDS": "1",
    "BACKPASS_LEASE_SECONDS": "6",
    "BACKPASS_SWEEP_SECONDS": "1",
    "BACKPASS_PATIENCE_SECONDS": "4",
}
CORE = ("web", "results", "clock")
USERS = 25
PROBLEM = "relu-squared"
_CSRF = "c" * 32


class Site:
    """A context manager: tables and users at its start, no process left at its end.

    `database_url` and `redis_url` as in an installation; without them SQLite and files in `folder`.
    """

    def __init__(self, folder: Path, database_url: str = "", redis_url: str = "") -> None:
        self.folder = folder
        self._hold = folder / "hold"
        self.data = folder / "data"
        self._hold.mkdir(parents=True)
        self.uses_postgres = bool(database_url)
        self._dsn = database_url
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = free.getsockname()[1]
        self._environment = {
            **{k: v for k, v in os.environ.items() if k != "DJANGO_SETTINGS_MODULE"},
            **PACE,
            "DATABASE_URL": database_url,
            "REDIS_URL": redis_url,
            "BACKPASS_DATA": str(self.data),
            "FAULTS_HOLD": str(self._hold),
            "CELERY_SKIP_CHECKS": "true",
            "PYTHONUNBUFFERED": "1",
        }
        self._environment = {k: v for k, v in self._environment.items() if v}
        self._processes: dict[str, psutil.Popen] = {}
        self.users: dict[str, str] = {}  # name: session key

    def __enter__(self) -> Site:
        seeded = subprocess.run(
            [sys.executable, "-m", "tests.faults.seed", str(USERS)],
            cwd=ROOT,
            env=self._environment | {"DJANGO_SETTINGS_MODULE": "web.settings"},
            stdout=subprocess.PIPE,
            check=True,
        )
        self.users = json.loads(seeded.stdout)
        return self

    def __exit__(self, *_: object) -> None:
        for name in list(self._processes):
            self.kill(name)

    def reset(self) -> None:
        """No runner, message, submission; web, results worker and clock at work."""
        self.kill_all(*(self._processes.keys() - set(CORE)))
        for held in self._hold.iterdir():
            held.unlink()
        with psycopg.connect(self._dsn) as postgres:
            postgres.execute("TRUNCATE submissions_submission CASCADE")
        with redis.Redis.from_url(self._environment["REDIS_URL"]) as broker:
            broker.flushall()
        self.start(*(name for name in CORE if name not in self._processes))

    # --- Processes

    def start(self, *names: str) -> None:
        """Start the pieces and wait until they work: web, results, clock; any other is a runner."""
        for name in names:
            assert name not in self._processes, f"{name} runs already"
            with self._log(name).open("wb") as log:
                self._processes[name] = psutil.Popen(
                    ["setpriv", "--pdeathsig", "KILL", "--", sys.executable, *self._argv(name)],
                    cwd=ROOT,
                    env=self._environment | {"FAULTS_NAME": name},
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                )
        for name in names:
            wait_for(lambda name=name: self._is_ready_or_ended(name), f"{name} to work")  # type: ignore[misc]  # a lambda, whose type is not inferred
            assert self._processes[name].is_running(), self.log(name)

    def _argv(self, name: str) -> Sequence[str]:
        celery = ("-m", "celery", "-A")
        if name == "web":
            bind = f"127.0.0.1:{self._port}"
            options = ("--worker-class", "gthread", "--threads", "8", "--no-control-socket")
            return ("-m", "gunicorn.app.wsgiapp", "web.wsgi:application", "-b", bind, *options)
        if name == "results":
            worker = ("worker", "-Q", "results", "-P", "solo", "-n", "results@%h")
            return (*celery, "web.celery", *worker, "--loglevel", "INFO")
        if name == "clock":
            schedule = str(self.folder / "beat-schedule")
            return (*celery, "web.celery", "beat", "-s", schedule, "--pidfile", "", "-l", "INFO")
        module = "runner.tasks" if name.startswith("real") else "tests.faults.stub_runner"
        worker = ("worker", "-Q", "judge.cpu", "-c", "1", "-n", f"{name}@%h")
        return (*celery, module, *worker, "--loglevel", "INFO")

    def _log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def log(self, name: str) -> str:
        """What a piece has written since its last start."""
        return self._log(name).read_text(encoding="utf-8", errors="replace")

    def _is_ready_or_ended(self, name: str) -> bool:
        if self._processes[name].poll() is not None:
            return True
        if name != "web":
            return " ready." in self.log(name) or "beat: Starting" in self.log(name)
        try:
            return self._ask("GET", "/healthz", {}).status == 200
        except OSError:
            return False

    def tree(self, name: str) -> list[psutil.Process]:
        """A piece's processes, the outermost first."""
        outermost = self._processes[name]
        try:
            return [outermost, *outermost.children(recursive=True)]
        except psutil.NoSuchProcess:
            return [outermost]

    def kill(self, name: str) -> None:
        """End a piece as a machine does that loses its power: every process at once."""
        self._signal(name, signal.SIGKILL)
        self._processes.pop(name).wait()

    def kill_all(self, *names: str) -> None:
        for name in names:
            self._signal(name, signal.SIGKILL)
        for name in names:
            self._processes.pop(name).wait()

    def stop(self, name: str) -> None:
        """Ask a piece to end, and wait until it has."""
        self._processes[name].terminate()
        self._processes.pop(name).wait(60)

    def freeze(self, name: str) -> None:
        self._signal(name, signal.SIGSTOP)

    def thaw(self, name: str) -> None:
        self._signal(name, signal.SIGCONT)

    def _signal(self, name: str, number: signal.Signals) -> None:
        for process in self.tree(name):
            try:
                process.send_signal(number)
            except psutil.NoSuchProcess:
                continue

    def hold(self, runner: str, phase: str) -> None:
        """Have a runner, not the real one, stay in a phase once it comes to it."""
        (self._hold / f"{runner}.{phase}").touch()

    def release(self, runner: str, phase: str) -> None:
        (self._hold / f"{runner}.{phase}").unlink()

    # --- Visitors

    def post(self, user: str, source: str, mode: str = "submit") -> str:
        """Press a button as that user; the submission's id."""
        fields = {
            "csrfmiddlewaretoken": _CSRF,
            "idempotency_key": uuid.uuid4().hex,
            "language": "pytorch",
            "mode": mode,
            "source": source,
        }
        headers = {
            "Cookie": f"sessionid={self.users[user]}; csrftoken={_CSRF}",
            "Content-Type": "application/x-www-form-urlencoded",
        }
        body = urllib.parse.urlencode(fields)
        answer = self._ask("POST", f"/problems/{PROBLEM}/submit/", headers, body)
        place = answer.getheader("Location", "")
        assert answer.status == 302, f"{answer.status}: {answer.read()[:2000]!r}"
        assert place.startswith("/submissions/"), place
        return place.split("/")[2]

    def _ask(
        self, method: str, path: str, headers: dict[str, str], body: str | None = None
    ) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        connection.request(method, path, body, headers)
        return connection.getresponse()

    # --- The database

    def rows(self, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """What the site's database answers, read from outside. Parameters are written `%s`."""
        if self.uses_postgres:
            with psycopg.connect(self._dsn) as postgres:
                return postgres.execute(query, parameters).fetchall()
        path = f"file:{self.data}/db.sqlite3?mode=ro"
        with closing(sqlite3.connect(path, uri=True, timeout=30)) as database:
            return database.execute(query.replace("%s", "?"), parameters).fetchall()
