"""A real Chromium before the whole real site. Nothing here is simulated."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, ViewportSize, sync_playwright

from tests.serve.site import Site

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
WIDE: ViewportSize = {"width": 1400, "height": 900}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "browser" in item.path.parts:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="package")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One running site for all tests of this package."""
    with Site(tmp_path_factory.mktemp("site") / "data") as site:
        site.address()
        yield site


# Package scope, because Playwright's event loop must be gone before tests that use Django's database.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    executable = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if not executable:
        pytest.skip("needs Chromium: apt install chromium, or CHROMIUM=/path/to/it")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser: Browser, site: Site) -> Iterator[Page]:
    """A fresh visitor's page. An error on the console, a breach of the content security policy among
    them, an uncaught exception or a request to another server fails the test."""
    context = browser.new_context(base_url=site.address(), viewport=WIDE)
    page = context.new_page()
    complaints = watch(page, site.address())
    yield page
    context.close()
    assert complaints == []


# The machine got or lost a network interface, as other tests' containers have it do.
_NETWORK_CHANGED = "net::ERR_NETWORK_CHANGED"


def watch(page: Page, address: str) -> list[str]:
    """What goes wrong on `page` from now on, as a list that grows."""
    complaints: list[str] = []

    def on_console(message: ConsoleMessage) -> None:
        if _NETWORK_CHANGED in message.text:
            return
        if message.type in ("error", "warning"):
            complaints.append(f"{message.type} on {page.url}: {message.text}")

    page.on("console", on_console)
    page.on("pageerror", lambda error: complaints.append(f"exception on {page.url}: {error}"))
    page.on(
        "request",
        lambda request: (
            None
            if request.url.startswith((address, "data:", "blob:"))
            else complaints.append(f"asked another server: {request.url}")
        ),
    )
    return complaints
