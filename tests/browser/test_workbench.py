"""The problem's page as a place to work: nothing typed and nothing sent is ever lost."""

from __future__ import annotations

from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import watch
from tests.browser.steps import PATIENCE_MS, choose, follow, press, write
from tests.serve.site import ROOT, Site

RIGHT = (ROOT / "kernels/relu_squared/pytorch.py").read_text(encoding="utf-8")
BROKEN = "def backward(grad_output, x):\n    return grad_output * undefined_name\n"


def test_run_needs_no_account_and_stands_on_no_board(page: Page):
    page.goto("/problems/relu-squared/")
    choose(page, "PyTorch")
    write(page, RIGHT)
    press(page, "run")
    follow(page)
    expect(page.locator("#console .verdict")).to_contain_text("public cases only")
    page.goto("/problems/relu-squared/leaderboard/?hardware=cpu")
    expect(page.locator("tr.own")).to_have_count(0)


def test_the_users_own_line_is_blamed_and_no_path_of_the_judge_shown(page: Page):
    page.goto("/problems/relu-squared/")
    choose(page, "PyTorch")
    write(page, BROKEN)
    press(page, "run")
    follow(page)
    verdict = page.locator("#console .verdict")
    expect(verdict).to_contain_text("Line 2")
    expect(verdict).to_contain_text("undefined_name")
    assert "site-packages" not in (verdict.text_content() or "")
    assert "/runner/" not in (verdict.text_content() or "")
    expect(page.locator(".cm-content .error-message")).to_contain_text("undefined_name")


def test_a_draft_of_each_language_survives_a_reload(page: Page):
    page.goto("/problems/rms-norm/")
    for language, text in (("PyTorch", "# in PyTorch\n"), ("Triton", "# in Triton\n")):
        choose(page, language)
        write(page, text)
    page.reload()
    expect(page.locator(".cm-content")).to_contain_text("# in Triton")
    choose(page, "PyTorch")
    expect(page.locator(".cm-content")).to_contain_text("# in PyTorch")


def test_tab_indents_and_control_enter_runs(page: Page):
    page.goto("/problems/relu-squared/")
    choose(page, "PyTorch")
    write(page, "")
    page.locator(".cm-content").press("Tab")
    page.keyboard.type("x = 1")
    expect(page.locator("textarea[name=source]")).to_have_value("    x = 1")
    page.keyboard.press("Control+Enter")
    follow(page)
    expect(page.locator("#console .verdict")).to_contain_text("Compile error")


def test_a_closed_tab_loses_nothing(browser: Browser, site: Site):
    context = browser.new_context(base_url=site.address())
    page = context.new_page()
    page.goto("/problems/relu-squared/")
    choose(page, "PyTorch")
    write(page, RIGHT)
    press(page, "run")
    expect(page.locator("#console .status")).to_be_visible()
    page.close()

    another = context.new_page()
    complaints = watch(another, site.address())
    another.goto("/submissions/")
    another.locator("tbody a").first.click()
    expect(another.locator(".verdict")).to_be_visible(timeout=PATIENCE_MS)
    expect(another.locator("pre.source")).to_contain_text("def backward")
    context.close()
    assert complaints == []


def test_somebody_elses_submission_cannot_be_seen(page: Page, browser: Browser, site: Site):
    page.goto("/problems/relu-squared/")
    choose(page, "PyTorch")
    write(page, BROKEN)
    press(page, "run")
    follow(page)
    address = page.get_by_role("link", name="has its own page").get_attribute("href")
    assert address
    stranger = browser.new_context(base_url=site.address()).new_page()
    answer = stranger.goto(address)
    assert answer is not None
    assert answer.status == 404
    stranger.context.close()
