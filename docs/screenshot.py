"""Takes docs/screenshot.png of a running site: `.venv/bin/python docs/screenshot.py http://localhost:8000`.

It runs a kernel that is wrong in one gradient, so that the picture shows a verdict.
"""

from __future__ import annotations

import sys
from pathlib import Path

from playwright.sync_api import expect, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.browser.conftest import ARGUMENTS  # noqa: E402 - after what it needs is set up
from tests.browser.steps import PATIENCE_MS, choose, press, write  # noqa: E402 - after what it needs is set up

KERNEL = ROOT / "tests" / "wrong" / "rms_norm" / "dweight_over_one_block.py"


def main(address: str) -> None:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=ARGUMENTS)
        page = chromium.new_page(base_url=address, viewport={"width": 1440, "height": 960})
        page.goto("/problems/rms-norm/")
        choose(page, "PyTorch")
        write(page, KERNEL.read_text(encoding="utf-8").partition("\n")[2])
        press(page, "run")
        expect(page.locator("#console .verdict")).to_be_visible(timeout=PATIENCE_MS)
        page.wait_for_timeout(500)
        page.screenshot(path=ROOT / "docs" / "screenshot.png")
        chromium.close()


if __name__ == "__main__":
    main(sys.argv[1])
