"""Private servers for tests, from the distribution's packages: Redis and PostgreSQL.

Each has its own temporary directory and listens for this machine alone; PostgreSQL only on a socket in
that directory. The kernel kills them when the test process dies, however it dies.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import urllib.parse
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import psutil
import psycopg
import pytest
import redis

from tests.serve.site import wait_for


def needed_program(name: str, package: str, *folders: Path) -> str:
    """Where a program lies; skips the test, with the package to install, when it does not."""
    search = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", *map(str, folders)])
    found = shutil.which(name, path=search)
    if not found:
        pytest.skip(f"no {name} on this machine: install {package}")
    return found


class Server:
    """A server in a directory of its own. It is started by `with`, and gone afterwards."""

    name = ""

    def __init__(self) -> None:
        # Not pytest's directory: another user's server could not enter it, and its path is too long
        # for a socket's name.
        self.folder = Path(tempfile.mkdtemp(prefix=f"backpass-{self.name}-"))
        self.process: subprocess.Popen[bytes] | None = None

    def argv(self) -> Sequence[str]:
        raise NotImplementedError

    def is_ready(self) -> bool:
        raise NotImplementedError

    def start(self) -> None:
        """Start the server and wait until it answers."""
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                self._with_parent_death(self.argv()),
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                cwd="/",
            )
        wait_for(self._is_ready_or_ended, f"an answer of {self.name}")
        assert self.process.poll() is None, (self.folder / "log").read_text()

    def _is_ready_or_ended(self) -> bool:
        assert self.process
        return self.process.poll() is not None or self.is_ready()

    def _with_parent_death(self, argv: Sequence[str]) -> Sequence[str]:
        return [needed_program("setpriv", "util-linux"), "--pdeathsig", "KILL", "--", *argv]

    def signal(self, number: signal.Signals) -> None:
        assert self.process
        self.process.send_signal(number)

    def kill(self) -> None:
        """End it at once, with everything below it."""
        if self.process is None:
            return
        try:
            below = psutil.Process(self.process.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            below = []
        self.process.kill()
        self.process.wait()
        psutil.wait_procs(below, timeout=20)  # they notice by themselves
        for process in below:
            if process.is_running():
                process.kill()
        self.process = None

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


class RedisServer(Server):
    """Redis that keeps nothing on disk, as a broker loses most when it ends."""

    name = "redis"

    def __init__(self) -> None:
        self._program = needed_program("redis-server", "redis-server")
        super().__init__()
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}/0"

    def argv(self) -> Sequence[str]:
        settings = {
            "bind": "127.0.0.1",
            "port": str(self.port),
            "save": "",
            "appendonly": "no",
            "dir": str(self.folder),
            "maxmemory-policy": "noeviction",
        }
        return [self._program, *(part for k, v in settings.items() for part in (f"--{k}", v))]

    def client(self) -> redis.Redis:
        return redis.Redis(port=self.port, socket_timeout=30)

    def is_ready(self) -> bool:
        try:
            return bool(self.client().ping())
        except redis.RedisError:
            return False


class PostgresServer(Server):
    """PostgreSQL with one empty database. Root starts it as the user its package made."""

    name = "postgres"

    def __init__(self) -> None:
        newest_first = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
        self._programs = Path(needed_program("initdb", "postgresql", *newest_first[:1])).parent
        super().__init__()
        host = urllib.parse.quote(str(self.folder), safe="")
        self.url = f"postgres://backpass@/postgres?host={host}"
        self.dsn = f"host={self.folder} user=backpass dbname=postgres connect_timeout=20"
        self._cluster = self.folder / "cluster"
        if os.geteuid() == 0:
            account = pwd.getpwnam("postgres")
            os.chown(self.folder, account.pw_uid, account.pw_gid)
        # The directory is this user's alone, so whoever reaches the socket may come in.
        initdb = ["--auth=trust", "--username=backpass", "--encoding=UTF8", "--no-sync"]
        subprocess.run(
            [*self._as_user(), self._programs / "initdb", *initdb, "-D", self._cluster],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd="/",
        )

    def argv(self) -> Sequence[str]:
        settings = {
            "listen_addresses": "",
            "unix_socket_directories": str(self.folder),
            "fsync": "off",
            "max_connections": "50",
            "shared_buffers": "16MB",
        }
        options = [part for k, v in settings.items() for part in ("-c", f"{k}={v}")]
        return [str(self._programs / "postgres"), "-D", str(self._cluster), *options]

    def _with_parent_death(self, argv: Sequence[str]) -> Sequence[str]:
        return [*self._as_user("--pdeathsig", "KILL"), *argv]

    def _as_user(self, *options: str) -> list[str]:
        user = ["--reuid", "postgres", "--regid", "postgres", "--clear-groups"]
        setpriv = needed_program("setpriv", "util-linux")
        return [setpriv, *(user if os.geteuid() == 0 else []), *options, "--"]

    def is_ready(self) -> bool:
        try:
            psycopg.connect(self.dsn).close()
        except psycopg.OperationalError:
            return False
        return True

    def restart(self) -> None:
        """As an administrator does: open connections are cut, then it is there again."""
        assert self.process
        self.signal(signal.SIGINT)  # what `pg_ctl stop -m fast` sends
        self.process.wait(60)
        self.start()

    def crash(self) -> None:
        """Every process at once, and started again: it recovers from its log."""
        self.kill()
        self.start()
