"""What holds for every test.

A test that needs something this machine may lack (Chromium, user namespaces, a server) says so with
`pytest.skip`. Under BACKPASS_REQUIRE_ALL, as in continuous integration, such a skip is a failure.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest

# Triton decides when it is imported whether its kernels are interpreted; tests of the interpreter's
# arithmetic share this process with whatever imported it first. Sandboxes have their own environment.
os.environ["TRITON_INTERPRET"] = "1"

ROOT = Path(__file__).parent
# Tests that start sandboxes, servers, engines or browsers look at the whole machine (is nothing left?)
# and at clocks: one worker runs them all, one after the other, while others compute.
THE_MACHINE = ("attacks", "browser", "deploy", "faults", "sandbox", "serve", "setup")
THE_MACHINE_TOO = ("runner/test_command_line.py", "runner/test_judge.py", "runner/test_pool.py")


def pytest_configure(config: pytest.Config) -> None:
    """A folder for temporary files for each worker: tests that look whether a sandbox left anything
    must not see what the other worker's sandboxes are using."""
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker:
        run = os.environ["PYTEST_XDIST_TESTRUNUID"][:8]
        folder = Path(tempfile.gettempdir()) / f"backpass-{run}-{worker}"
        folder.mkdir(mode=0o755)
        os.environ["TMPDIR"] = tempfile.tempdir = str(folder)
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        item.add_marker(pytest.mark.xdist_group(_group(item)))


def _group(item: pytest.Item) -> str:
    """Which tests one worker runs together: what a file's fixtures and caches serve."""
    path = item.path.relative_to(ROOT)
    if path.parts[0] in THE_MACHINE or path.as_posix() in THE_MACHINE_TOO:
        return "the machine"
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    slug = getattr(parameters.get("problem"), "slug", "")
    return f"{path} {slug}"


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
