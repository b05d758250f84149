"""Searching the catalogue: with scripts as one types, without them by a button."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import watch
from tests.browser.steps import PATIENCE_MS
from tests.serve.site import Site


def test_the_list_follows_what_one_types_and_chooses(page: Page):
    page.goto("/")
    rows = page.locator(".problems > li")
    every = rows.count()
    page.evaluate("window.sameDocument = true")
    page.get_by_label("Search").fill("dweight")
    expect(page.locator(".found")).to_be_visible(timeout=PATIENCE_MS)
    by_word = rows.count()
    assert 0 < by_word < every
    page.get_by_label("Tier").select_option("Reductions")
    asked = re.compile(r"/\?q=dweight&tier=Reductions$")
    expect(page).to_have_url(asked, timeout=PATIENCE_MS)
    expect(page.get_by_role("link", name="RMSNorm", exact=True)).to_be_visible()
    expect(page.get_by_role("link", name="Linear layer", exact=True)).to_have_count(0)
    assert page.evaluate("window.sameDocument")
    page.reload()  # the address says what was asked
    expect(page.get_by_label("Search")).to_have_value("dweight")
    assert rows.count() < by_word


def test_without_scripts_a_button_searches(browser: Browser, site: Site):
    context = browser.new_context(base_url=site.address(), java_script_enabled=False)
    page = context.new_page()
    complaints = watch(page, site.address())
    page.goto("/")
    page.get_by_label("Search").fill("softmax")
    page.get_by_role("button", name="Search").click()
    expect(page.locator(".found")).to_be_visible()
    expect(page.get_by_role("link", name="Softmax", exact=True)).to_be_visible()
    context.close()
    assert complaints == []
