"""One whole site, really started, killed in every way that an operator or a machine can."""

from __future__ import annotations

import signal
import socket
import time
from pathlib import Path

import psutil
import pytest

from tests.serve.site import ROOT, Site, still_running, wait_for
from tests.serve.visitor import Visitor

RIGHT = (ROOT / "kernels" / "relu_squared" / "pytorch.py").read_text(encoding="utf-8")
# Right as well, but each call takes long enough to be interrupted.
SLOW = (
    RIGHT
    + """

import time

_backward = backward


def backward(grad_output, x):
    time.sleep(1.5)
    return _backward(grad_output, x)
"""
)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


def outcome(site: Site, submission: str) -> tuple[str, str]:
    """(state, verdict) of a submission, from the database."""
    rows = site.rows(
        "SELECT state, verdict FROM submissions_submission WHERE id = ?",
        [submission.replace("-", "")],
    )
    return rows[0]


def wait_for_verdict(site: Site, submission: str) -> str:
    def judged() -> str:
        return outcome(site, submission)[1]

    return wait_for(judged, "a verdict", 180)


def test_an_interrupt_ends_every_process_of_a_site(data):
    with Site(data) as site:
        site.address()
        processes = site.processes()
        assert len(processes) >= 7
        assert site.stop(signal.SIGINT) == 0
        assert still_running(processes) == []
        assert "Stopped." in site.said


def test_a_second_site_on_the_same_data_is_told_where_the_first_one_is(data):
    with Site(data) as site:
        address = site.address()
        with Site(data) as second:
            assert second.wait() == 1
            assert f"already running at {address}/" in second.said


def test_a_taken_port_is_named_and_the_next_one_used(data):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with Site(data, port=port) as site:
            address = site.address()
            assert f"Port {port} is taken" in site.said or f"Ports {port} to" in site.said
            assert int(address.rpartition(":")[2]) > port
            assert '"ok"' in Visitor(address).read("/healthz")


def test_nothing_outlives_a_killed_guard(data):
    with Site(data) as site:
        site.address()
        processes = site.processes()
        site.process.kill()
        wait_for(lambda: not still_running(processes), "the end of every process", 30)


def test_nothing_outlives_a_killed_supervisor(data):
    with Site(data) as site:
        site.address()
        processes = site.processes()
        site.supervisor().kill()
        assert site.wait() == 1
        assert still_running(processes) == []
        assert "was killed (SIGKILL)" in site.said


@pytest.mark.parametrize(
    ("words", "label"),
    [
        (("gunicorn",), "The web server"),
        (("worker", "results"), "The results worker"),
        (("beat",), "The clock"),
        (("worker", "judge.cpu"), "The judge"),
    ],
)
def test_a_killed_service_is_started_again(data, words, label):
    with Site(data, *([] if "judge.cpu" in words else ["--no-judge"])) as site:
        address = site.address()
        first = site.get(*words)
        below = first.children(recursive=True)
        first.kill()

        def replacement() -> psutil.Process | None:
            found = site.find(*words)
            return found if found and found != first and found not in below else None

        wait_for(replacement, "another process in its place")
        site.wait_until_it_says(f"{label} ended (signal SIGKILL)")
        wait_for(lambda: f"{label} is ready." in site.said.rpartition("SIGKILL")[2], "readiness")
        assert still_running([first, *below]) == []
        assert '"ok"' in Visitor(address).read("/healthz")


@pytest.mark.sandbox
def test_what_was_submitted_before_the_judge_starts_is_judged_when_it_does(data):
    with Site(data, "--no-judge") as site:
        submission = Visitor(site.address()).run("relu-squared", "pytorch", RIGHT)
        time.sleep(1)
        assert outcome(site, submission) == ("queued", "")
    with Site(data) as site:
        site.address()
        assert wait_for_verdict(site, submission) == "accepted"


@pytest.mark.sandbox
def test_a_job_whose_worker_is_killed_is_judged_again_and_ends_with_one_verdict(data):
    with Site(data) as site:
        submission = Visitor(site.address()).run("relu-squared", "pytorch", SLOW)
        wait_for(lambda: outcome(site, submission)[0] == "running", "the job's start")
        worker = site.get("worker", "judge.cpu")
        below = worker.children(recursive=True)
        worker.kill()
        assert wait_for_verdict(site, submission) == "accepted"
        wait_for(lambda: not still_running([worker, *below]), "the end of the old worker", 10)
        attempts = site.rows(
            "SELECT number, state FROM submissions_attempt WHERE submission_id = ? ORDER BY number",
            [submission.replace("-", "")],
        )
        assert attempts == [(1, "lost"), (2, "done")]
