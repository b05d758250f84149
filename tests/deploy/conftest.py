"""The compose file, brought up once for all tests of this package."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from setup.parts import RUNTIME, TORCH, Stamps
from tests.browser.conftest import ARGUMENTS, WIDE, watch
from tests.deploy.base_images import POSTGRES, PYTHON, REDIS, import_image
from tests.deploy.installation import Installation
from tests.deploy.proxy import Proxy
from tests.engine import PrivateEngine, answers


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "deploy" in item.path.parts:
            item.add_marker(pytest.mark.deploy)


@pytest.fixture(scope="package")
def engine() -> Iterator[str | None]:
    """The address of an engine whose containers have networks."""
    plugin = subprocess.run(["docker", "compose", "version"], capture_output=True, check=False)
    if plugin.returncode != 0:
        pytest.skip("needs Docker's compose plugin: `docker compose version` fails")
    if answers(None):
        yield None
        return
    # Compose makes bridges of its own; the default one belongs to whichever engine came last.
    with PrivateEngine(network=True, options=("--bridge=none",)) as private:
        yield private.address


@pytest.fixture(scope="package")
def installation(
    engine: str | None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installation]:
    """The running project, with images that are imported since none can be pulled."""
    stale = [part.name for part in (RUNTIME, TORCH) if not Stamps().is_current(part)]
    assert not stale, f".venv is not what the lock files {stale} say: run `make setup`"
    bases = {"BASE_IMAGE": PYTHON, "POSTGRES_IMAGE": POSTGRES, "REDIS_IMAGE": REDIS}
    images = {variable: base.tag for variable, base in bases.items()}
    installation = Installation(tmp_path_factory.mktemp("installation"), engine, images)
    for base in bases.values():
        import_image(base, installation.environment)
    try:
        installation.up()
        yield installation
    finally:
        installation.down()


@pytest.fixture(scope="package")
def site(installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """The site behind its proxy."""
    folder = tmp_path_factory.mktemp("proxy")
    with Proxy(folder, port=installation.proxy_port, site_port=installation.port) as proxy:
        yield proxy


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    executable = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if not executable:
        pytest.skip("needs Chromium: apt install chromium, or CHROMIUM=/path/to/it")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="package")
def visitor(browser: Browser, site: Proxy) -> Iterator[tuple[Page, list[str]]]:
    """One person's page for the whole story, and what goes wrong on it."""
    # The certificate is the test's own.
    context = browser.new_context(base_url=site.address, viewport=WIDE, ignore_https_errors=True)
    page = context.new_page()
    yield page, watch(page, site.address)
    context.close()
