"""The site as something to read: with any window, any colour scheme, with or without scripts."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from problems import all_problems
from tests.browser.conftest import watch
from tests.serve.site import Site
from web.lessons.declared import LESSONS

PROBLEMS = [problem.url_slug for problem in all_problems()]
PAGES = [
    "/",
    "/lessons/",
    *(f"/lessons/{lesson.slug}/" for lesson in LESSONS),
    "/judging/",
    "/submissions/",
    "/accounts/login/",
    "/accounts/signup/",
    *(f"/problems/{slug}/" for slug in PROBLEMS),
    *(f"/problems/{slug}/solutions/" for slug in PROBLEMS),
    *(f"/problems/{slug}/leaderboard/" for slug in PROBLEMS),
    "/problems/linear/roofline/",
    "/problems/flash-attention/solutions/triton/map/",
]
NARROW: Any = {"width": 360, "height": 740}
SCHEMES: Any = ("light", "dark")


@pytest.mark.parametrize("path", PAGES)
def test_a_page_opens_without_a_complaint_and_fits_any_window(page: Page, path: str):
    answer = page.goto(path)
    assert answer is not None
    assert answer.status == 200
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        expect(page.locator("main h1")).to_be_visible()
    page.set_viewport_size(NARROW)
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= NARROW["width"], "a narrow window needs sideways scrolling"


def test_an_unknown_page_says_so(browser: Browser, site: Site):
    context = browser.new_context(base_url=site.address())
    page = context.new_page()
    answer = page.goto("/problems/no-such-problem/")
    assert answer is not None
    assert answer.status == 404
    expect(page.locator("main")).to_be_visible()
    context.close()


@pytest.mark.parametrize("slug", PROBLEMS)
def test_catalogue_and_statement_can_be_read_without_scripts(
    browser: Browser, site: Site, slug: str
):
    context = browser.new_context(base_url=site.address(), java_script_enabled=False)
    page = context.new_page()
    complaints = watch(page, site.address())
    page.goto("/")
    page.locator(f'main a[href="/problems/{slug}/"]').first.click()
    expect(page.locator("#statement")).to_be_visible()
    expect(page.locator("#derivation math").first).to_be_visible()
    expect(page.locator("textarea[name=source]")).to_be_visible()
    context.close()
    assert complaints == []
