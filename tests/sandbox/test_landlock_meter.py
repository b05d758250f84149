"""What a job holds of the disk is seen, however it hides it."""

from __future__ import annotations

import ctypes
import mmap
import os
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from sandbox import landlock_kernel
from sandbox.landlock import LandlockSandbox
from sandbox.landlock_meter import DiskMeter, descendants
from sandbox.spec import Ending
from tests.sandbox.support import SMALL, python_job, run

pytestmark = pytest.mark.sandbox
MISSING = landlock_kernel.why_not()

FILL = {
    "many files": "n = 0\nwhile True:\n    open(f'f{n}', 'wb').write(b'x' * (1 << 20)); n += 1",
    "removed and still open": """
kept = []
while True:
    kept.append(open('f', 'wb', buffering=0))
    kept[-1].write(b'x' * (4 << 20))
    os.remove('f')
""",
    "without a name from the start": """
kept = []
while True:
    kept.append(os.fdopen(os.open('.', os.O_TMPFILE | os.O_RDWR), 'wb', buffering=0))
    kept[-1].write(b'x' * (4 << 20))
""",
    "removed and only mapped": """
libc = ctypes.CDLL(None)
while True:
    with open('f', 'w+b') as file:
        file.write(b'x' * (4 << 20))
        file.flush()
        libc.mmap(None, ctypes.c_size_t(4096), 1, 1, file.fileno(), ctypes.c_long(0))
    os.remove('f')
""",
    "in folders that cannot be listed": """
os.mkdir('hidden', 0o300)
n = 0
while True:
    open(f'hidden/{n}', 'wb').write(b'x' * (1 << 20)); n += 1
""",
    "in folders without end": """
while True:
    os.mkdir('deeper')
    os.chdir('deeper')
""",
}


@pytest.mark.skipif(MISSING is not None, reason=str(MISSING))
@pytest.mark.parametrize("how", sorted(FILL))
def test_a_job_that_fills_the_disk_is_ended_and_its_folder_removed(how: str):
    # Slowly: what is tested is that it is seen, not how fast.
    source = f"import ctypes, os, time\n{FILL[how]}".replace(
        "while True:", "while not time.sleep(0.01):"
    )
    limits = replace(SMALL, memory=2 << 30)
    outcome = run(LandlockSandbox(), python_job(source, limits=limits))
    assert outcome.ending == Ending(signal=9, out_of_memory=True), outcome.printed


def test_the_disk_is_measured(tmp_path: Path):
    meter = DiskMeter(tmp_path, limit=64 << 20, longest_file=1 << 20)
    own = [os.getpid()]
    before = meter.used(own)  # what the test runner itself has open and removed
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").write_bytes(b"x" * 300_000)
    os.sync()
    named = meter.used(own)
    assert 300_000 <= named - before <= 320_000
    with (tmp_path / "open").open("wb", buffering=0) as file:
        file.write(b"x" * 500_000)
        os.fsync(file)
        (tmp_path / "open").unlink()
        assert named + 500_000 <= meter.used(own) <= named + 520_000
    assert meter.used(own) == named
    with (tmp_path / "mapped").open("w+b") as file:
        file.write(b"x" * 4096)
        file.flush()
        address = _map(file.fileno())  # Python's own mapping would keep the file open
    (tmp_path / "mapped").unlink()
    assert meter.used(own) == named + (1 << 20)
    _libc.munmap(ctypes.c_void_p(address), ctypes.c_size_t(4096))
    assert meter.used(own) == named


_libc = ctypes.CDLL(None)
_libc.mmap.restype = ctypes.c_void_p


def _map(descriptor: int) -> int:
    read_only, shared = mmap.PROT_READ, mmap.MAP_SHARED
    arguments = (None, ctypes.c_size_t(4096), read_only, shared, descriptor, ctypes.c_long(0))
    return int(_libc.mmap(*arguments))


def test_descendants_come_after_their_parents():
    nested = "sh -c 'sleep 600 & wait' & wait"
    with subprocess.Popen(["sh", "-c", nested], start_new_session=True) as started:
        try:
            deadline = time.monotonic() + 30
            while len(found := descendants(started.pid)) < 2 and time.monotonic() < deadline:
                time.sleep(0.05)
            assert found == [psutil.Process(found[1]).ppid(), found[1]]
        finally:
            os.killpg(started.pid, 9)
