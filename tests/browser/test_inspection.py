"""A look inside a kernel, from Run to the machine code and back to the line."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, Page, expect

from tests.browser.steps import PATIENCE_MS, choose, follow, press, write
from tests.serve.site import Site

KERNEL = """\
import torch
import triton
import triton.language as tl


@triton.jit
def scale(dy, x, dx, N, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < N
    upstream = tl.load(dy + at, mask=inside).to(tl.float32)
    value = tl.load(x + at, mask=inside).to(tl.float32)
    tl.store(dx + at, (upstream * 2 * tl.maximum(value, 0)).to(tl.bfloat16), mask=inside)


def backward(grad_output, x):
    dy, x = grad_output.contiguous(), x.contiguous()
    dx = torch.empty_like(x)
    scale[(triton.cdiv(x.numel(), BLOCK),)](dy, x, dx, x.numel(), BLOCK=BLOCK)
    return dx


BLOCK = 1024
"""
LOAD = 10  # the line of the first load


def run(page: Page, source: str) -> None:
    page.goto("/problems/relu-squared/")
    choose(page, "Triton")
    write(page, source)
    press(page, "run")
    follow(page)
    expect(page.locator("#console .inside-figures table").first).to_be_visible(timeout=PATIENCE_MS)


def test_from_run_to_the_machine_code_of_a_line_and_back(page: Page, browser: Browser, site: Site):
    run(page, KERNEL)
    figures = page.locator("#console .inside-figures")
    for target in ("sm_80", "sm_90", "sm_100", "sm_120"):
        expect(figures.get_by_role("rowheader", name=re.compile(rf"^{target}\b"))).to_be_visible()
    figures.get_by_role("link", name="PTX").click()

    source, code = page.locator("[data-rows=source]"), page.locator("[data-rows=stage]")
    source.locator(f"#L{LOAD}").hover()
    expect(code.locator(".lit").first).to_be_visible()
    assert {row.get_attribute("data-line") for row in code.locator(".lit").all()} == {str(LOAD)}
    source.locator(f"#L{LOAD}").click()
    expect(code.locator(".held").first).to_be_in_viewport()
    expect(code.locator(".held", has_text="ld.global").first).to_be_attached()
    assert page.url.endswith(f"#L{LOAD}")

    code.focus()
    page.keyboard.press("ArrowDown")
    expect(code.locator(".row.at")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(page.locator(".held")).to_have_count(0)

    page.keyboard.press("/")
    page.keyboard.type("st.global")
    expect(page.locator("[data-found]")).to_have_text(re.compile(r"^1 of \d+$"))
    expect(code.locator(".found")).to_contain_text("st.global")
    expect(code.locator(".found")).to_be_in_viewport()
    compare(page)
    without_scripts(page, browser, site)


def compare(page: Page) -> None:
    run(page, KERNEL.replace("BLOCK = 1024", "BLOCK = 128"))
    page.locator("#console .inside-figures").get_by_role("link", name="SASS").click()
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("group", name="Figures before and after")).to_contain_text("→")
    page.get_by_role("link", name="Source", exact=True).click()
    difference = page.get_by_role("group", name="Difference")
    expect(difference.locator(".gone")).to_contain_text("BLOCK = 1024")
    expect(difference.locator(".new")).to_contain_text("BLOCK = 128")
    page.get_by_role("link", name="inside", exact=True).click()


def without_scripts(page: Page, browser: Browser, site: Site) -> None:
    context = browser.new_context(
        base_url=site.address(),
        java_script_enabled=False,
        storage_state=page.context.storage_state(),
    )
    plain = context.new_page()
    plain.goto(page.url)
    plain.get_by_role("navigation", name="Form").get_by_role("link", name="SASS").click()
    plain.locator("[data-rows=source]").get_by_role("link", name=str(LOAD), exact=True).click()
    target = plain.locator("[data-rows=stage] .row:target")
    expect(target).to_have_attribute("data-line", str(LOAD))
    expect(target).to_be_in_viewport()
    plain.get_by_role("searchbox").fill("LDG")
    plain.get_by_role("button", name="Find").click()
    expect(plain.locator(".row.hit").first).to_contain_text("LDG")
    context.close()


def test_advice_and_findings_lead_to_their_lines_in_the_editor(page: Page):
    narrow = KERNEL.replace("tl.load(x + at, mask", "tl.load(x + (at - three) + 3, mask")
    narrow = narrow.replace("dx, N, BLOCK", "dx, N, three, BLOCK")
    narrow = narrow.replace("x.numel(), BLOCK=", "x.numel(), 3, BLOCK=")
    outside = narrow.replace("dy + at, mask=inside", "dy + at")
    run(page, outside)
    expect(page.locator("#console .findings")).to_contain_text(f"Line {LOAD}: Out of bounds")
    marked = page.locator(".cm-content .error-line")
    expect(marked).to_contain_text("tl.load(dy + at)")
    expect(page.locator(".cm-content .error-message")).to_contain_text("Out of bounds")

    page.locator("#console .advice").get_by_role("link", name=f"Line {LOAD + 1}").click()
    expect(page.locator(".cm-content")).to_be_focused()
    expect(page.locator(".cm-activeLine")).to_contain_text("value = tl.load")
