"""What holds for every test.

A test that needs something this machine may lack (Chromium, user namespaces, a server) says so with
`pytest.skip`. Under BACKPASS_REQUIRE_ALL, as in continuous integration, such a skip is a failure.
"""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest

# Triton decides when it is imported whether its kernels are interpreted; tests of the interpreter's
# arithmetic share this process with whatever imported it first. Sandboxes have their own environment.
os.environ["TRITON_INTERPRET"] = "1"


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
