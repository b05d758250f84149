"""What the third level promises, on every version of Landlock's interface that this kernel can play."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import psutil
import pytest

from sandbox import landlock_kernel
from sandbox.landlock import LandlockSandbox
from sandbox.removal import remove
from tests.sandbox.support import as_nobody, python_job, run

pytestmark = pytest.mark.sandbox
ROOT = Path(__file__).parents[2]
ABI = landlock_kernel.abi()
OLD = [version for version in (1, 3, 5) if version < ABI]

needs_landlock = pytest.mark.skipif(ABI == 0, reason=f"{landlock_kernel.why_not()}")


def test_the_version_is_what_the_kernel_answers():
    libc = ctypes.CDLL(None, use_errno=True)
    answer = libc.syscall(444, None, ctypes.c_size_t(0), ctypes.c_uint(1))
    assert max(answer, 0) == ABI
    assert (landlock_kernel.why_not() is None) == (ABI > 0)
    modules = Path("/sys/kernel/security/lsm")
    if modules.exists():
        assert ("landlock" in modules.read_text().split(",")) == (ABI > 0)


@pytest.mark.parametrize(("what", "words"), [("landlock", "no Landlock"), ("landlock-off", "lsm=")])
def test_a_kernel_without_it_is_noticed_and_said_so(what: str, words: str):
    ask = "from sandbox.landlock_kernel import *; print(abi(), why_not())"
    forbid = [sys.executable, "-m", "tests.sandbox.forbid", what]
    result = subprocess.run(
        [*forbid, sys.executable, "-c", ask], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert result.stdout.startswith("0 ")
    assert words in result.stdout


def test_each_version_handles_more_than_the_one_before():
    rights = [landlock_kernel.files_of(version) for version in range(1, 8)]
    assert all(older & newer == older for older, newer in pairwise(rights))
    assert landlock_kernel.Files.TRUNCATE not in landlock_kernel.files_of(2)
    assert landlock_kernel.Files.TRUNCATE in landlock_kernel.files_of(3)


PROBES = """
import os, resource, signal, sys
def attempt(what, action):
    try:
        action()
    except OSError:
        return
    print("BREACH", what)
judge, neighbour, file = int(os.environ["JUDGE"]), int(os.environ["NEIGHBOUR"]), os.environ["FILE"]
own = os.environ["JOB"] + "/program.py"
attempt("signal", lambda: os.kill(neighbour, signal.SIGKILL))
attempt("signal by descriptor", lambda: signal.pidfd_send_signal(os.pidfd_open(neighbour), 9))
attempt("signal a group", lambda: os.killpg(neighbour, signal.SIGKILL))
attempt("limit", lambda: resource.prlimit(neighbour, resource.RLIMIT_CPU, (0, 0)))
attempt("processors", lambda: os.sched_setaffinity(neighbour, {0}))
attempt("priority", lambda: os.setpriority(os.PRIO_PROCESS, neighbour, 19))
attempt("priority of the user", lambda: os.setpriority(os.PRIO_USER, 0, 19))
attempt("schedule", lambda: os.sched_setscheduler(neighbour, os.SCHED_IDLE, os.sched_param(0)))
for process in (judge, neighbour, os.getppid(), 1):
    for name in ("environ", "cmdline", "maps", "mem", "status", "fd", "cwd/", "root/"):
        attempt(f"{name} of {process}", lambda: os.listdir(f"/proc/{process}/{name}")
            if name.endswith(("/", "fd")) else open(f"/proc/{process}/{name}").read(1))
for name in ("net/tcp", "mountinfo", "cgroup", "root/etc/passwd", "environ", "mem"):
    attempt(f"/proc/self/{name}", lambda: open(f"/proc/self/{name}", "rb").read(1))
for name in ("", "sys", "net", "1"):
    attempt(f"list /proc/{name}", lambda: os.listdir(f"/proc/{name}"))
attempt("read", lambda: open(file).read())
attempt("read the account", lambda: open("/etc/passwd").read())
attempt("list", lambda: os.listdir(os.path.dirname(file)))
for path in (file, own):
    attempt("write", lambda: open(path, "r+"))
    attempt("shorten", lambda: os.truncate(path, 0))
    attempt("empty by reading", lambda: os.open(path, os.O_RDONLY | os.O_TRUNC))
    attempt("neither read nor write", lambda: os.open(path, 3))
    attempt("neither, and empty it", lambda: os.open(path, 3 | os.O_TRUNC))
    attempt("mode", lambda: os.chmod(path, 0))
    attempt("times", lambda: os.utime(path))
    attempt("owner", lambda: os.chown(path, os.getuid(), -1))
    attempt("attribute", lambda: os.setxattr(path, "user.x", b"x"))
    attempt("rename", lambda: os.rename(path, "taken"))
    attempt("link", lambda: os.link(path, "linked"))
    attempt("remove", lambda: os.remove(path))
attempt("mode of what is open", lambda: os.fchmod(os.open(own, os.O_RDONLY), 0o777))
attempt("shared memory of others", lambda: os.listdir("/dev/shm"))
attempt("new shared memory", lambda: open("/dev/shm/x", "w"))
attempt("host's temporary files", lambda: os.listdir("/tmp"))
attempt("a folder beside", lambda: os.mkdir("../beside"))
print("tried")
"""


@pytest.fixture
def neighbour() -> Iterator[subprocess.Popen[bytes]]:
    """A process of the user that jobs run as, in a group of its own."""
    command = [*as_nobody(), "sleep", "600"]
    with subprocess.Popen(command, start_new_session=True) as started:
        yield started
        started.kill()


@pytest.fixture
def everybodys_file() -> Iterator[Path]:
    """A file that its user, everybody, may change."""
    folder = Path(f"/tmp/backpass-test-{os.getpid()}")
    folder.mkdir()
    file = folder / "file"
    file.write_text("untouched")
    folder.chmod(0o777)
    file.chmod(0o666)
    if os.geteuid() == 0:
        os.chown(folder, 65534, 65534)
        os.chown(file, 65534, 65534)
    yield file
    remove(folder)


@needs_landlock
@pytest.mark.parametrize("version", [*OLD, ABI])
def test_on_every_version_others_and_their_files_are_out_of_reach(
    version: int, neighbour: subprocess.Popen[bytes], everybodys_file: Path
):
    environment = {
        "JUDGE": str(os.getpid()),
        "NEIGHBOUR": str(neighbour.pid),
        "FILE": str(everybodys_file),
    }
    outcome = run(LandlockSandbox(version), python_job(PROBES, environment=environment))
    assert (outcome.output, outcome.printed) == ("tried\n", "")
    assert neighbour.poll() is None
    assert everybodys_file.read_text() == "untouched"


HONEST = """
import asyncio, ctypes, multiprocessing, os, shutil, subprocess, sys, tempfile, threading
print(subprocess.run(["/bin/echo", "a program"], capture_output=True, text=True).stdout, end="")
thread = threading.Thread(target=print, args=("a thread",))
thread.start()
thread.join()
with tempfile.TemporaryDirectory() as folder:
    os.mkdir(folder + "/deep")
    open(folder + "/file", "w").write("x")
    if os.environ["REFER"] == "1":
        os.replace(folder + "/file", folder + "/deep/file")
    shutil.copyfile("/usr/bin/env", folder + "/copy")
print("temporary files", os.listdir("."))
asyncio.run(asyncio.sleep(0))
child = os.fork()
if child == 0:
    import time
    time.sleep(600)
if os.environ["SIGNALS"] == "1":
    os.kill(child, 9)
    print("a child ended by signal", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print("processors", open("/proc/cpuinfo").read(9), len(os.sched_getaffinity(0)) > 0)
print("itself", "VmRSS" in open("/proc/self/status").read(), len(os.listdir("/proc/self/fd")) > 2)
"""


@needs_landlock
@pytest.mark.parametrize("version", [*OLD, ABI])
def test_on_every_version_an_honest_program_runs(version: int):
    environment = {"REFER": str(int(version >= 2)), "SIGNALS": str(int(version >= 6))}
    outcome = run(LandlockSandbox(version), python_job(HONEST, environment=environment))
    assert outcome.printed == ""
    assert outcome.output.splitlines() == [
        "a program",
        "a thread",
        "temporary files []",
        *(["a child ended by signal -9"] if version >= 6 else []),
        "processors processor True",
        "itself True True",
    ]


@needs_landlock
@pytest.mark.skipif(ABI < 6, reason="ending all at once needs Linux 6.12 (version 6 of Landlock)")
def test_a_process_that_always_is_a_new_one_ends_with_its_job():
    source = """
import os, sys
sys.stdout.write("x")
sys.stdout.flush()
if os.fork() == 0:
    os.setsid()
    while True:
        if os.fork():
            os._exit(0)
import time
time.sleep(600)
"""
    with LandlockSandbox().start(python_job(source)) as running:
        running.read(1, time.monotonic() + 20)
        mine = Path(f"/proc/{running.tree()[1]}/cmdline").read_bytes()
        assert b"backpass-job-" in mine
        running.kill()

    def left() -> list[int]:
        return [one.pid for one in psutil.process_iter() if _command_line(one.pid) == mine]

    for _ in range(20):
        assert left() == []


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


@needs_landlock
def test_root_is_told_who_must_be_able_to_read():
    if os.geteuid() != 0:
        pytest.skip("only root's jobs run as another user")
    closed = Path(f"/tmp/backpass-test-{os.getpid()}")
    closed.mkdir(mode=0o700)
    try:
        program = closed / "program"
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
        job = replace(python_job(""), argv=(str(program),))
        with pytest.raises(Exception, match=r"user 65534 .* must be able to reach"):
            LandlockSandbox().start(job)
    finally:
        remove(closed)
