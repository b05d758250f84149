"""Without isolation jobs still run, are limited, and leave nothing."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from sandbox.spec import Ending
from sandbox.unsafe import UnsafeSandbox
from tests.sandbox.support import SMALL, python_job, run

pytestmark = pytest.mark.sandbox


def test_paths_of_the_job_lead_to_its_files():
    source = """
import os
print(open(os.environ["JOB"] + "/data").read(), open(os.environ["GIVEN"]).read())
open(os.environ["HOME"] + "/file", "w").write("x")
"""
    job = python_job(source, files={"data": b"numbers"}, environment={"GIVEN": "/job/data"})
    outcome = run(UnsafeSandbox(), job)
    assert (outcome.output, outcome.ending) == ("numbers numbers\n", Ending(exit_code=0))


def test_daemons_end_with_the_job():
    source = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0: time.sleep(600)
    os._exit(0)
"""
    assert run(UnsafeSandbox(), python_job(source)).ending == Ending(exit_code=0)


@pytest.mark.parametrize(
    ("source", "limits", "field"),
    [
        ("import time; time.sleep(60)", replace(SMALL, wall=0.5), "timed_out"),
        ("x = b'x' * (600 << 20); import time; time.sleep(60)", SMALL, "out_of_memory"),
    ],
)
def test_limits_hold(source, limits, field):
    assert getattr(run(UnsafeSandbox(), python_job(source, limits=limits)).ending, field)


def test_there_is_no_network_even_so():
    source = "import socket; socket.socket()"
    assert "PermissionError" in run(UnsafeSandbox(), python_job(source)).printed


def test_shared_memory_works():
    source = "import os; os.write(os.open(os.environ['ARENA_X'], os.O_RDWR), b'abc'); print('k')"
    with UnsafeSandbox().start(python_job(source, arenas={"x": 10})) as running:
        running.read(1, time.monotonic() + 10)
        assert bytes(running.arena("x")[:3]) == b"abc"
