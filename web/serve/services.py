"""The processes that a site consists of."""

from __future__ import annotations

import ipaddress
import os
import socket
import sys
from collections.abc import Callable, Iterable

from web.serve.logs import fresh_log
from web.serve.options import Options
from web.serve.preparation import base_environment
from web.serve.processes import Child, Service, answers, log_says

WEB_THREADS = 8
GRACE = 8.0
JUDGE_GRACE = 3.0
JUDGE_QUEUES = "judge.cpu,judge.interpreter"
# Django's checks import every view, and with them PyTorch: seconds for what the web server needs anyway.
_SKIP_CHECKS = {"CELERY_SKIP_CHECKS": "true"}
_CELERY_READY = log_says(b" ready.")


def web_server(options: Options, listener: socket.socket) -> Service:
    """gunicorn on a socket that already listens."""
    names = allowed_hosts(options.host)
    return Service(
        name="web",
        label="The web server",
        argv=(
            *_python("gunicorn.app.wsgiapp", "web.wsgi:application"),
            *("--bind", f"fd://{listener.fileno()}", "--worker-class", "gthread"),
            *("--workers", "1", "--threads", str(WEB_THREADS)),
            *("--graceful-timeout", "3", "--no-control-socket"),
        ),
        log=fresh_log(options.logs, "web"),
        environment={"ALLOWED_HOSTS": ",".join(names)} | base_environment(options),
        is_ready=answers(listener, "/healthz"),
        descriptors=(listener.fileno(),),
    )


def results_worker(options: Options) -> Service:
    """Records what runners say. One is enough, and with SQLite also the most that makes sense."""
    return _celery(
        options,
        name="results",
        label="The results worker",
        arguments=("web.celery", "worker", "-Q", "results", "-P", "solo", "-n", "results@%h"),
        is_ready=_CELERY_READY,
    )


def clock(options: Options) -> Service:
    """Asks the results worker, every few seconds, to look for what got lost."""
    return _celery(
        options,
        name="clock",
        label="The clock",
        arguments=(
            *("web.celery", "beat", "-s", str(options.data / "beat-schedule")),
            *("--pidfile", ""),
        ),
        is_ready=log_says(b"beat: Starting..."),
    )


def judge(options: Options) -> Service:
    """The embedded runner: one job at a time, so that jobs do not disturb each other's timing.

    A stop does not wait for a job that takes long: the web notices, and sends it again.
    """
    return _celery(
        options,
        name="judge",
        label="The judge",
        arguments=("runner.tasks", "worker", "-Q", JUDGE_QUEUES, "-c", "1", "-n", "judge@%h"),
        is_ready=_CELERY_READY,
        grace=JUDGE_GRACE,
        needed_to_visit=False,
    )


def allowed_hosts(host: str) -> list[str]:
    """The names under which visitors may ask for the site when it listens on `host`."""
    given = os.environ.get("ALLOWED_HOSTS")
    if given:
        return given.split(",")
    local = ["localhost", "127.0.0.1", "[::1]"]
    if is_local(host):
        return local
    return [*local, host, socket.gethostname(), socket.getfqdn()]


def is_local(host: str) -> bool:
    """Whether only this machine can reach `host`."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _celery(
    options: Options,
    *,
    name: str,
    label: str,
    arguments: Iterable[str],
    is_ready: Callable[[Child], bool],
    grace: float = GRACE,
    needed_to_visit: bool = True,
) -> Service:
    return Service(
        name=name,
        label=label,
        argv=(*_python("celery", "-A", *arguments), "--loglevel", "INFO"),
        log=fresh_log(options.logs, name),
        environment=base_environment(options) | _SKIP_CHECKS,
        is_ready=is_ready,
        grace=grace,
        needed_to_visit=needed_to_visit,
    )


def _python(module: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-m", module, *arguments)
