"""Several worker processes tell one truth: real gunicorn with the settings meant for it."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

from django.conf import settings

from tests.serve.site import wait_for

TOKEN = "some-token"
ASKED = 30


def test_any_worker_tells_what_all_of_them_measured(tmp_path: Path) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        log = tmp_path / "log"
        environment = os.environ | {
            "BACKPASS_DATA": str(tmp_path / "data"),
            "BACKPASS_LOG_FORMAT": "json",
            "METRICS_TOKEN": TOKEN,
            "TMPDIR": str(tmp_path),
        }
        for name in ("DATABASE_URL", "REDIS_URL", "PROMETHEUS_MULTIPROC_DIR"):
            environment.pop(name, None)
        argv = [sys.executable, "-m", "gunicorn.app.wsgiapp", "web.wsgi:application"]
        argv += ["-c", "python:web.observability.gunicorn", "--workers", "2", "--worker-class"]
        argv += ["sync", "--bind", f"fd://{listener.fileno()}", "--no-control-socket"]
        subprocess.run(
            [sys.executable, "manage.py", "migrate", "-v0"],
            cwd=settings.BASE_DIR,
            env=environment,
            check=True,
        )
        with log.open("wb") as output:
            server = subprocess.Popen(
                argv,
                cwd=settings.BASE_DIR,
                env=environment,
                stdout=output,
                stderr=output,
                pass_fds=(listener.fileno(),),
            )
        try:
            _check(address, log)
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(60)
    assert not list(tmp_path.glob("backpass-metrics-*"))


def _check(address: str, log: Path) -> None:
    def read(path: str) -> str:
        request = urllib.request.Request(
            address + path, headers={"Authorization": f"Bearer {TOKEN}"}
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return str(answer.read(), "utf-8")

    def both_answer() -> bool:
        # A sync worker takes one connection at a time: while it reads, the other one serves.
        return len(list(log.parent.glob("backpass-metrics-*/histogram_*.db"))) == 2

    wait_for(lambda: read("/healthz") and both_answer(), f"both workers; {log.read_text()}")
    before = _counted(read("/metrics"))
    for _ in range(ASKED):
        read("/healthz")
    # Whoever of the two is asked.
    for _ in range(6):
        assert _counted(read("/metrics")) == before + ASKED
    for line in log.read_text().splitlines():
        assert json.loads(line)["logger"]


def _counted(metrics: str) -> int:
    found = re.search(
        r'^backpass_http_request_seconds_count\{method="GET",route="healthz",status="200"\} (\S+)$',
        metrics,
        re.MULTILINE,
    )
    assert found, metrics
    return int(float(found[1]))
