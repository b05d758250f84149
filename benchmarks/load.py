"""How many requests a second the site's pages take, as a share of what a bare Django view takes.

    python -m benchmarks.load [--users 10000] [--submissions 100000] [--rounds 3] [--seconds 4]

A PostgreSQL of its own, the site below gunicorn with the settings of production's compose file, `wrk` on
the same machine. Each round asks for every page in turn, the bare view first and last; a page's share is
taken of the bare view of the same round. Beside it stands the processor time that web server and
database spend on a request: on a machine that does other work too it is the steadier of the two, and
the bare view's divided by the page's is the share that processors alone would allow. Needs Debian's
packages postgresql and wrk.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import psutil
import psycopg

from tests.servers import PostgresServer

ROOT = Path(__file__).resolve().parent.parent
WORKERS, THREADS, CONNECTIONS = 2, 4, 16


@dataclass(frozen=True)
class Target:
    """A page to ask for. While `board_changes`, a verdict changes the board every second."""

    name: str
    path: str
    cookie: str = ""
    board_changes: bool = False


def targets(seeded: dict[str, str]) -> list[Target]:
    problem, cookie = seeded["problem"], seeded["cookie"]
    board = f"{problem}leaderboard/"
    return [
        Target("bare view", "/bare"),
        Target("board, nobody in particular", board),
        Target("board, page 100", f"{board}?page=100"),
        Target("board, changing every second", board, board_changes=True),
        Target("board, a user", board, cookie),
        Target("board, a user, changing every second", board, cookie, board_changes=True),
        Target("problem, nobody in particular", problem),
        Target("problem, a user", problem, cookie),
        Target("submission, its owner", seeded["submission"], cookie),
        Target("all problems", "/"),
    ]


@contextmanager
def site(environment: dict[str, str], port: int) -> Iterator[tuple[str, int]]:
    """The address of the running site, and the process above its workers."""
    argv = [sys.executable, "-m", "gunicorn.app.wsgiapp", "web.wsgi:application"]
    argv += ["--config", "python:web.observability.gunicorn", "--bind", f"127.0.0.1:{port}"]
    argv += ["--worker-class", "gthread", "--workers", str(WORKERS), "--threads", str(THREADS)]
    argv += ["--keep-alive", "60", "--no-control-socket"]
    server = subprocess.Popen(argv, cwd=ROOT, env=environment, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(240):
            try:
                urllib.request.urlopen(f"{address}/bare", timeout=30).close()
                break
            except OSError:
                time.sleep(0.5)
        else:
            raise SystemExit("the site did not start")
        yield address, server.pid
    finally:
        server.terminate()
        server.wait(60)


@contextmanager
def changing_board(dsn: str) -> Iterator[None]:
    """What a verdict does to what was drawn of the board, once a second."""
    over = threading.Event()

    def change() -> None:
        with psycopg.connect(dsn, autocommit=True) as connection:
            while not over.wait(1.0):
                connection.execute("UPDATE boards_boardversion SET version = version + 1")

    thread = threading.Thread(target=change)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def throughput(address: str, target: Target, seconds: float) -> float:
    """Requests a second. Every answer must have been a page."""
    command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds:g}s", "--timeout", "30s"]
    if target.cookie:
        command += ["-H", f"Cookie: {target.cookie}"]
    told = subprocess.run(
        [*command, address + target.path], capture_output=True, text=True, check=True
    ).stdout
    assert "Non-2xx" not in told, told
    assert "Socket errors" not in told, told
    found = re.search(r"Requests/sec:\s+([\d.]+)", told)
    assert found, told
    return float(found[1])


@dataclass(frozen=True)
class Measured:
    """A page in one round: requests a second, seconds of processor time a request, and both as a share
    of the bare view's."""

    rate: float
    processor: float
    share: float = 1.0
    processor_share: float = 1.0


def processor_time(pids: tuple[int, ...]) -> float:
    """Seconds that the processes and all below them have used, those that have ended among them."""
    total = 0.0
    for pid in pids:
        process = psutil.Process(pid)
        for each in (process, *process.children(recursive=True)):
            times = each.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return total


def measure(
    address: str,
    pids: tuple[int, ...],
    pages: list[Target],
    rounds: int,
    seconds: float,
    changing: Callable[[], AbstractContextManager[None]],
) -> dict[str, list[Measured]]:
    """Every page in every round."""
    results: dict[str, list[Measured]] = {page.name: [] for page in pages}

    def ask(page: Target) -> Measured:
        with changing() if page.board_changes else nullcontext():
            before, began = processor_time(pids), time.monotonic()
            rate = throughput(address, page, seconds)
            asked = rate * (time.monotonic() - began)
            return Measured(rate, (processor_time(pids) - before) / asked)

    for page in pages:
        throughput(address, page, 1)  # both workers have drawn everything once
    for number in range(rounds):
        found = {page.name: ask(page) for page in pages}
        first, last = found["bare view"], ask(pages[0])
        rate, processor = (first.rate + last.rate) / 2, (first.processor + last.processor) / 2
        for name, one in found.items():
            shares = {"share": one.rate / rate, "processor_share": processor / one.processor}
            results[name].append(replace(one, **shares))
        print(f"round {number + 1}: bare {rate:.0f}/s", file=sys.stderr)
    return results


def table(results: dict[str, list[Measured]]) -> str:
    """Medians over the rounds, as Markdown."""
    lines = [
        "| page | requests a second | share | from round to round | processor ms a request | share |",
        "|---|---:|---:|---|---:|---:|",
    ]
    for name, rounds in results.items():
        shares = [one.share for one in rounds]
        lines.append(
            f"| {name} | {statistics.median(one.rate for one in rounds):.0f} "
            f"| {statistics.median(shares):.2f} | {min(shares):.2f} to {max(shares):.2f} "
            f"| {1000 * statistics.median(one.processor for one in rounds):.2f} "
            f"| {statistics.median(one.processor_share for one in rounds):.2f} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=10_000)
    parser.add_argument("--submissions", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--port", type=int, default=18_734)
    options = parser.parse_args()
    if not shutil.which("wrk"):
        raise SystemExit("needs wrk: apt install wrk")
    with PostgresServer() as postgres, tempfile.TemporaryDirectory() as data:
        environment = os.environ | {
            "DATABASE_URL": postgres.url,
            "BACKPASS_DATA": data,
            "DJANGO_SETTINGS_MODULE": "benchmarks.load_settings",
            "LOG_LEVEL": "WARNING",
        }
        run = [sys.executable]
        subprocess.run([*run, "manage.py", "migrate", "-v0"], cwd=ROOT, env=environment, check=True)
        began = time.monotonic()
        seeding = [*run, "-m", "benchmarks.load_seed", str(options.users), str(options.submissions)]
        seeded = json.loads(subprocess.check_output(seeding, cwd=ROOT, env=environment))
        with psycopg.connect(postgres.dsn, autocommit=True) as connection:
            connection.execute("VACUUM ANALYZE")
        print(f"seeded in {time.monotonic() - began:.0f} s", file=sys.stderr)
        with site(environment, options.port) as (address, pid):
            assert postgres.process
            results = measure(
                address,
                (pid, postgres.process.pid),
                targets(seeded),
                options.rounds,
                options.seconds,
                lambda: changing_board(postgres.dsn),
            )
    load = os.getloadavg()[2]
    print(
        f"{options.users} users, {options.submissions} submissions, {options.rounds} rounds of "
        f"{options.seconds:g} s. {os.cpu_count()} cores ({platform.machine()}), Python "
        f"{platform.python_version()}; {WORKERS} workers of {THREADS} threads, {CONNECTIONS} "
        f"connections; load average of the quarter of an hour before: {load:.1f}.\n"
    )
    print(table(results))


if __name__ == "__main__":
    main()
