"""What is refused is told beside the buttons, and costs neither the text nor the verdict below."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.steps import choose, follow, press, write
from tests.serve.site import ROOT, Site

RIGHT = (ROOT / "kernels/relu_squared/pytorch.py").read_text(encoding="utf-8")


@pytest.fixture
def page(browser: Browser, site: Site) -> Iterator[Page]:
    """A fresh visitor's page. A refusal is an error on the console, so that none is looked for here."""
    context = browser.new_context(base_url=site.address())
    yield context.new_page()
    context.close()


def test_a_refusal_stands_beside_the_buttons_until_the_next_press(page: Page):
    page.goto("/problems/relu-squared/")
    choose(page, "PyTorch")
    write(page, RIGHT)
    press(page, "run")
    follow(page)
    verdict = page.locator("#console .verdict")
    expect(verdict).to_be_visible()

    write(page, " \n ")
    press(page, "run")
    refusal = page.locator("#refusal")
    expect(refusal).to_contain_text("The source is empty")
    expect(verdict).to_be_visible()
    expect(page.get_by_role("button", name="Run")).to_be_enabled()

    write(page, RIGHT)
    press(page, "run")
    expect(refusal).to_be_empty()
    follow(page)
    expect(verdict).to_be_visible()
