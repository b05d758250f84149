"""The file that health checks look at, touched by real Celery processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.serve.site import ROOT, wait_for

WORKER = ("worker", "-I", "wire.liveness", "-P", "solo", "-Q", "results", "-n", "alive@%h")
BEAT = ("beat", "-S", "wire.liveness:LivingScheduler", "--pidfile", "")


@contextmanager
def celery(folder: Path, *arguments: str, **variables: str) -> Iterator[subprocess.Popen[bytes]]:
    environment = os.environ | {"BACKPASS_DATA": str(folder), "CELERY_SKIP_CHECKS": "true"}
    for name in ("REDIS_URL", "DATABASE_URL", "BACKPASS_LIVENESS_FILE"):
        environment.pop(name, None)
    process = subprocess.Popen(
        [sys.executable, "-m", "celery", "-A", "web.celery", *arguments],
        cwd=ROOT,
        env=environment | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=60)


@pytest.mark.parametrize("arguments", [WORKER, BEAT], ids=["worker", "scheduler"])
def test_a_loop_that_turns_touches_the_file_again_and_again(
    tmp_path: Path, arguments: tuple[str, ...]
):
    alive = tmp_path / "alive"
    schedule = ("-s", str(tmp_path / "schedule")) if arguments is BEAT else ()
    with celery(tmp_path, *arguments, *schedule, BACKPASS_LIVENESS_FILE=str(alive)):
        wait_for(alive.exists, "a first sign of life")
        first = alive.stat().st_mtime_ns
        wait_for(lambda: alive.stat().st_mtime_ns > first, "another one")
