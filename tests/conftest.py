"""What holds for every test.

A test that needs something this machine may lack (Chromium, user namespaces, a server) says so with
`pytest.skip`. Under BACKPASS_REQUIRE_ALL, as in continuous integration, such a skip is a failure.
"""

from __future__ import annotations

import gc
import os
import shutil
import signal
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
import torch
from xdist.scheduler import LoadScopeScheduling

from problems import all_problems
from runner import timing

# Triton decides when it is imported whether its kernels are interpreted; tests of the interpreter's
# arithmetic share this process with whatever imported it first. Sandboxes have their own environment.
os.environ["TRITON_INTERPRET"] = "1"

# A shell that starts the tests in the background has them ignore what a terminal sends, and so would
# whatever they start: tests that interrupt a program would wait in vain.
for number in (signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)

# Tensors in tests are small, and there is a worker for each processor. What is timed sets its own.
torch.set_num_threads(1)

# With a worker for each processor the machine is never calm, and most times here are read by nobody.
timing.PATIENCE_SECONDS = 0.0

SLUGS = frozenset(problem.slug for problem in all_problems())
# Whose tests share what is slow to start, or would be in each other's way: Docker engines; whole sites.
TOGETHER = {
    "engines": ("attacks/sandbox/", "deploy/", "sandbox/"),
    "sites": ("browser/", "faults/", "serve/", "setup/"),
}


def pytest_configure(config: pytest.Config) -> None:
    """A folder for temporary files for each worker: tests that look whether a sandbox left anything
    must not see what the other worker's sandboxes are using. Like /tmp, everybody may write to it: where
    a judge and its launcher are both killed, the job's user removes the job's folder."""
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker:
        run = os.environ["PYTEST_XDIST_TESTRUNUID"][:8]
        folder = Path(tempfile.gettempdir()) / f"backpass-{run}-{worker}"
        folder.mkdir()
        folder.chmod(0o1777)
        os.environ["TMPDIR"] = tempfile.tempdir = str(folder)
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


def pytest_collection_finish() -> None:
    """Thousands of collected tests stay until the end: no search for garbage need look at them again.
    Every test of a sandbox makes two, which took longer than many of these tests."""
    gc.collect()
    gc.freeze()


class Grouped(LoadScopeScheduling):  # type: ignore[misc]  # xdist's, without types
    """Tests of one group run in one worker."""

    def _split_scope(self, nodeid: str) -> str:
        return group(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Grouped:
    return Grouped(config, log)


def group(nodeid: str) -> str:
    """Which tests run together: those named above, else those of a file, for one problem where its name
    begins the parameters: what its fixtures and caches serve."""
    path, _, test = nodeid.removeprefix("tests/").partition("::")
    for name, folders in TOGETHER.items():
        if path.startswith(folders):
            return name
    first = test.partition("[")[2].partition("-")[0].rstrip("]")
    return f"{path} {first if first in SLUGS else ''}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and _everything_is_required():
        report.outcome = "failed"
        report.longrepr = f"skipped although BACKPASS_REQUIRE_ALL is set: {report.longrepr}"
    return report


def _everything_is_required() -> bool:
    return os.environ.get("BACKPASS_REQUIRE_ALL", "") not in ("", "0")
