"""What must be so before the services start: an isolated place for submissions, a current database."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from web.serve.options import ROOT, Options
from wire.isolation import isolation

_MIGRATION_FOLDERS = "web/*/migrations"
_UNSAFE = "BACKPASS_UNSAFE_NO_SANDBOX"


class CannotServe(Exception):
    """Starting cannot go on; the message says why."""


@dataclass(frozen=True)
class Isolation:
    """Whether this machine can isolate submissions, and what the operator should know of it."""

    available: bool
    words: str

    @classmethod
    def described(cls, name: str, level: str, what_holds: str) -> Isolation:
        """The sandbox called `name`, of an isolation `level` (see wire.isolation)."""
        promised = isolation(level)
        return cls(True, f"Isolation: {name}. {what_holds} It {promised.not_promised}")


def base_environment(options: Options) -> dict[str, str]:
    """The environment of every process of the site.

    Whether submissions may run without isolation is said by the flag alone, never by what happens to be
    in the operator's environment.
    """
    environment = dict(os.environ) | {
        "BACKPASS_DATA": str(options.data),
        "PYTHONUNBUFFERED": "1",
        "DJANGO_SETTINGS_MODULE": "web.settings",
    }
    environment.pop(_UNSAFE, None)
    if options.unsafe_no_sandbox:
        environment[_UNSAFE] = "1"
    return environment


class Preparation:
    """Looks for a sandbox and brings the database up to date, both at the same time."""

    def __init__(self, options: Options) -> None:
        """Start both."""
        self._options = options
        self._environment = base_environment(options)
        self._migrations = _MigrationStamp(options.data)
        self.migrating = not self._migrations.is_current()
        self._probe = self._start("-m", "sandbox", "--json")
        self._migrate = (
            self._start("manage.py", "migrate", "--no-input", "-v", "1") if self.migrating else None
        )

    def isolation(self) -> Isolation:
        """Wait for the look at the machine."""
        words, _ = self._probe.communicate()
        if self._probe.returncode != 0:
            return Isolation(available=False, words=words.strip())
        found = json.loads(words)
        return Isolation.described(found["name"], found["isolation"], found["level"])

    def finish_migrating(self) -> None:
        """Wait until the database is as the code expects it.

        Raises:
            CannotServe: with what the migration printed.
        """
        if self._migrate is None:
            return
        words, _ = self._migrate.communicate()
        if self._migrate.returncode != 0:
            raise CannotServe(f"The database could not be brought up to date:\n{words.strip()}")
        self._migrations.set()

    def _start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, *arguments],
            cwd=ROOT,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )


class _MigrationStamp:
    """Remembers for which migrations the embedded database was last brought up to date.

    Asking Django costs more than a second. A database elsewhere (DATABASE_URL) is always asked, since
    others may change it.
    """

    def __init__(self, data: Path) -> None:
        self._database = data / "db.sqlite3"
        self._stamp = data / "migrated"
        self._embedded = not os.environ.get("DATABASE_URL")
        self._wanted = self._fingerprint()

    def is_current(self) -> bool:
        return (
            self._embedded
            and self._database.exists()
            and self._stamp.exists()
            and self._stamp.read_text(encoding="ascii") == self._wanted
        )

    def set(self) -> None:
        if self._embedded:
            self._stamp.write_text(self._wanted, encoding="ascii")

    def _fingerprint(self) -> str:
        """Of our migrations, and of the lock file: packages bring migrations of their own."""
        digest = hashlib.sha256((ROOT / "requirements" / "runtime.txt").read_bytes())
        for folder in sorted(ROOT.glob(_MIGRATION_FOLDERS)):
            for file in sorted(folder.glob("*.py")):
                digest.update(str(file.relative_to(ROOT)).encode() + b"\0" + file.read_bytes())
        return digest.hexdigest()
