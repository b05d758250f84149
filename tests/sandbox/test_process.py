"""The contract of sandbox.spec, kept by every backend that isolates."""

from __future__ import annotations

import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sandbox import watchdog
from sandbox.process import PipedRunning
from sandbox.spec import DeadlinePassed, Ending, JobEnded, Running, Sandbox, SandboxUnavailable
from tests.sandbox.support import SMALL, python_job, run

pytestmark = pytest.mark.sandbox

ECHO = """
import sys
while line := sys.stdin.buffer.readline():
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
"""


def soon(seconds: float = 10) -> float:
    return time.monotonic() + seconds


def test_bytes_go_in_and_come_out(sandbox: Sandbox):
    with sandbox.start(python_job(ECHO)) as running:
        for message in (b"one\n", b"\x00\xff two\n", b"x" * 50_000 + b"\n"):
            running.write(message, soon())
            assert running.read(len(message), soon()) == message


def test_more_than_a_pipe_holds_goes_through(sandbox: Sandbox):
    source = "import sys; sys.stdout.write(str(len(sys.stdin.buffer.read(5_000_000))))"
    with sandbox.start(python_job(source)) as running:
        running.write(memoryview(b"z" * 5_000_000), soon())
        assert running.read(7, soon()) == b"5000000"


def test_a_job_that_does_not_answer_is_noticed_at_the_deadline(sandbox: Sandbox):
    with sandbox.start(python_job("import time; time.sleep(60)")) as running:
        with pytest.raises(DeadlinePassed):
            running.read(1, soon(0.2))
        with pytest.raises(DeadlinePassed):
            running.write(b"x" * 1_000_000, soon(0.2))


def test_a_job_may_be_over_before_anybody_looks_at_it(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
):
    """On a busy machine its judge may get no turn until then."""
    report, looked_late = PipedRunning._report, []

    def late(running: PipedRunning, deadline: float) -> str:
        message = report(running, deadline)
        if message == "started":
            while running._is_running() and time.monotonic() < deadline:
                time.sleep(0.01)
            looked_late.append(not running._is_running())
        return message

    monkeypatch.setattr(PipedRunning, "_report", late)
    outcome = run(sandbox, python_job("print('done')"))
    assert looked_late == [True]
    assert (outcome.output, outcome.ending.exit_code) == ("done\n", 0)


def test_a_job_that_has_long_been_over_ends_as_any_other(sandbox: Sandbox):
    """The watchdog has seen it, and watches no more."""
    with sandbox.start(python_job("raise SystemExit(3)")) as running:
        with pytest.raises(JobEnded):
            running.read(1, soon())
        time.sleep(10 * watchdog.PERIOD)
        assert running.kill().exit_code == 3


def test_a_job_that_closed_its_streams_is_noticed_at_once(sandbox: Sandbox):
    source = "import os, time; os.close(0); os.close(1); time.sleep(60)"
    with sandbox.start(python_job(source)) as running:
        with pytest.raises(JobEnded):
            running.write(b"x" * 1_000_000, soon())  # more than the pipe holds
        with pytest.raises(JobEnded):
            running.read(1, soon())


def test_output_shorter_than_asked_for_is_an_end(sandbox: Sandbox):
    with (
        sandbox.start(python_job("print('abc', end='')")) as running,
        pytest.raises(JobEnded, match="3 of 4 bytes"),
    ):
        running.read(4, soon())


@pytest.mark.parametrize("code", [0, 1, 7, 137, 255])
def test_the_exit_code_is_told(sandbox: Sandbox, code: int):
    assert run(sandbox, python_job(f"import os; os._exit({code})")).ending == Ending(exit_code=code)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGTERM])
def test_the_signal_that_ended_the_job_is_told(sandbox: Sandbox, number: signal.Signals):
    outcome = run(sandbox, python_job(f"import os; os.kill(os.getpid(), {int(number)})"))
    assert outcome.ending == Ending(signal=int(number))


def test_a_job_killed_by_the_judge_ends_by_signal_and_killing_again_changes_nothing(
    sandbox: Sandbox,
):
    with sandbox.start(python_job("import time; time.sleep(60)")) as running:
        assert running.kill() == Ending(signal=int(signal.SIGKILL)) == running.kill()
        with pytest.raises(JobEnded):
            running.read(1, soon())
        with pytest.raises(JobEnded):
            running.write(b"x", soon())


def test_a_job_that_lives_too_long_is_timed_out(sandbox: Sandbox):
    job = python_job("import time; time.sleep(60)", limits=replace(SMALL, wall=0.5))
    outcome = run(sandbox, job)
    assert outcome.ending == Ending(signal=int(signal.SIGKILL), timed_out=True)


@pytest.mark.parametrize(
    "source",
    [
        "while True: pass",
        "import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass",
        "import os\nfor _ in range(3): os.fork()\nwhile True: pass",
    ],
    ids=["one process", "ignoring the warning", "many processes"],
)
def test_processor_time_is_limited_for_the_tree(sandbox: Sandbox, source: str):
    outcome = run(sandbox, python_job(source, limits=replace(SMALL, cpu=1)))
    assert outcome.ending.timed_out
    assert outcome.ending.signal in {int(signal.SIGKILL), int(signal.SIGXCPU)}


def test_address_space_is_limited(sandbox: Sandbox):
    source = "try: bytearray(3 << 30)\nexcept MemoryError: print('refused')"
    assert run(sandbox, python_job(source)).output == "refused\n"


def test_memory_shared_after_a_fork_counts_once(sandbox: Sandbox):
    source = """
import os, time
block = b"x" * (150 << 20)
for _ in range(8):
    if os.fork() == 0:
        time.sleep(1)
        os._exit(0)
for _ in range(8): os.wait()
print("done")
"""
    outcome = run(sandbox, python_job(source))
    assert (outcome.output, outcome.ending) == ("done\n", Ending(exit_code=0))


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("f = open('f', 'wb')\nf.truncate(9 << 20)", "File too large"),
        ("x = [open('/dev/null') for _ in range(100)]", "Too many open files"),
    ],
)
def test_file_size_and_open_files_are_limited(sandbox: Sandbox, source: str, error: str):
    job = python_job(source, limits=replace(SMALL, file_size=8 << 20, open_files=32))
    outcome = run(sandbox, job)
    assert error in outcome.printed
    assert outcome.ending == Ending(exit_code=1)


def test_a_shared_memory_is_seen_from_both_sides(sandbox: Sandbox):
    source = """
import mmap, os, sys
views = []
for name in ("FIRST", "SECOND"):
    descriptor = os.open(os.environ["ARENA_" + name], os.O_RDWR)
    views.append(mmap.mmap(descriptor, os.fstat(descriptor).st_size))
views[1][:] = views[0][:8]
sys.stdout.write("x")
sys.stdout.flush()
sys.stdin.read()
"""
    job = python_job(source, arenas={"first": 100_000, "second": 8})
    with sandbox.start(job) as running:
        assert len(running.arena("first")) == 100_000
        running.arena("first")[:8] = b"gradient"
        running.write(b" ", soon())
        running.read(1, soon())
        assert bytes(running.arena("second")) in {b"gradient", bytes(8)}


def test_files_are_where_they_should_be_and_the_environment_is_exactly_given(sandbox: Sandbox):
    source = """
import os
job, home = os.environ.get("JOB", "/job"), os.environ.pop("HOME")
print(open(f"{job}/folder/data.bin").read(), sorted(os.listdir(job)))
ours = {"LC_CTYPE", "JOB", "TMPDIR"}
print({name: value for name, value in os.environ.items() if name not in ours})
print(os.getcwd() == home)
"""
    job = python_job(source, files={"folder/data.bin": b"numbers"}, environment={"A": "b c"})
    assert run(sandbox, job).output == ("numbers ['folder', 'program.py']\n{'A': 'b c'}\nTrue\n")


@pytest.fixture
def folder_for_everybody() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


def test_a_tree_is_visible_at_its_own_path_and_its_neighbours_cannot_be_read(
    sandbox: Sandbox, folder_for_everybody: Path
):
    for name in ("shown", "hidden"):
        (folder_for_everybody / name).mkdir(mode=0o755)
        (folder_for_everybody / name / "file").write_text("yes")
    source = f"""
folder = {str(folder_for_everybody)!r}
print(open(folder + "/shown/file").read())
try:
    print(open(folder + "/hidden/file").read())
except (FileNotFoundError, PermissionError):
    print("no")
"""
    outcome = run(sandbox, python_job(source, trees=(folder_for_everybody / "shown",)))
    assert outcome.output == "yes\nno\n"


def test_nothing_stays_for_the_next_job(sandbox: Sandbox):
    source = """
import os
folders = [os.environ["HOME"]]
if "JOB" not in os.environ:
    folders += ["/tmp", "/dev/shm"]
for folder in set(folders):
    print(os.listdir(folder))
    open(folder + "/left", "w").write("x")
"""
    for _ in range(2):
        outcome = run(sandbox, python_job(source))
        assert (set(outcome.output.splitlines()), outcome.printed) == ({"[]"}, "")


def test_a_job_outlives_the_thread_that_started_it(sandbox: Sandbox):
    started: list[Running] = []
    thread = threading.Thread(target=lambda: started.append(sandbox.start(python_job(ECHO))))
    thread.start()
    thread.join()
    with started[0] as running:
        time.sleep(0.2)
        running.write(b"still here\n", soon())
        assert running.read(11, soon()) == b"still here\n"


def test_jobs_run_side_by_side(sandbox: Sandbox):
    jobs = [sandbox.start(python_job(ECHO)) for _ in range(3)]
    try:
        for number, running in enumerate(jobs):
            running.write(f"{number}\n".encode(), soon())
        assert [running.read(2, soon()) for running in jobs] == [b"0\n", b"1\n", b"2\n"]
    finally:
        for running in jobs:
            running.kill()


def test_a_program_that_does_not_exist_is_said_so(sandbox: Sandbox):
    job = replace(python_job(""), argv=("/usr/bin/no-such-program",))
    with pytest.raises(SandboxUnavailable, match="no-such-program"):
        sandbox.start(job)


@pytest.mark.parametrize(
    "change",
    [
        {"files": {"../escape": b""}},
        {"files": {"/etc/passwd": b""}},
        {"trees": (Path("/"),)},
        {"trees": (Path("/proc"),)},
        {"arenas": {"empty": 0}},
    ],
)
def test_a_job_that_asks_for_what_it_may_not_have_is_refused(
    sandbox: Sandbox, change: dict[str, Any]
):
    with pytest.raises(ValueError, match=r"path|folder|size"):
        sandbox.start(replace(python_job(""), **change))
