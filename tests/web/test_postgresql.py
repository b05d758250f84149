"""What touches the database holds on PostgreSQL as it does on SQLite: the same tests, run once more."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.serve.site import ROOT
from tests.servers import PostgresServer

TESTED = ("submissions", "boards", "inspection/test_storing.py", "test_tasks.py")


def test_the_tests_of_everything_stored_pass_on_postgresql(tmp_path: Path) -> None:
    with PostgresServer() as server:
        environment = os.environ | {"DATABASE_URL": server.url, "BACKPASS_DATA": str(tmp_path)}
        tests = [str(ROOT / "tests" / "web" / name) for name in TESTED]
        pytest = [sys.executable, "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider"]
        run = subprocess.run(
            [*pytest, *tests], cwd=ROOT, env=environment, capture_output=True, text=True
        )
    assert run.returncode == 0, run.stdout + run.stderr


def test_the_migrations_make_the_tables_that_the_models_describe_on_postgresql(
    tmp_path: Path,
) -> None:
    with PostgresServer() as server:
        environment = os.environ | {"DATABASE_URL": server.url, "BACKPASS_DATA": str(tmp_path)}
        for command in (["migrate", "-v0"], ["makemigrations", "--check", "--dry-run"]):
            run = subprocess.run(
                [sys.executable, "manage.py", *command],
                cwd=ROOT,
                env=environment,
                capture_output=True,
                text=True,
            )
            assert run.returncode == 0, run.stdout + run.stderr
