"""The access map: by slider, keys, by itself, and without scripts. The roofline: fetched when wanted."""

from __future__ import annotations

from playwright.sync_api import Browser, Page, expect

from tests.serve.site import Site

# Ten programs, each with rows of its own; every one loads all of the weight.
MAP = "/problems/layer-norm/solutions/triton_atomics/map/?tensor=dx_ptr&op=store"
LAST = 9


def tiles(page: Page, shade: int) -> int:
    return int(page.locator(f"[data-tiles='{shade}']").inner_text())


def test_the_slider_keys_and_buttons_step_through_the_programs(page: Page):
    page.goto(MAP)
    said, slider = page.locator("[data-now]"), page.get_by_role("slider", name="Program")
    expect(said).to_contain_text(f"Program ({LAST}, 0, 0)")
    everything = page.locator("[data-shade='1']").get_attribute("d")
    assert tiles(page, 0) == 0
    slider.fill("0")
    expect(said).to_contain_text("Program (0, 0, 0)")
    of_the_first = tiles(page, 1)
    assert 0 < of_the_first < 3840
    page.get_by_role("button", name="Next program").click()
    expect(said).to_contain_text("Program (1, 0, 0)")
    expect(slider).to_have_value("1")
    assert tiles(page, 1) + tiles(page, 2) > of_the_first
    page.get_by_role("radio", name="it alone").check()
    expect(said).to_contain_text("touched by it")
    page.locator("[data-keys]").focus()
    page.keyboard.press("Home")
    expect(said).to_contain_text("Program (0, 0, 0)")
    assert tiles(page, 1) == of_the_first
    page.keyboard.press("End")
    page.get_by_role("radio", name="up to it").check()
    assert page.locator("[data-shade='1']").get_attribute("d") == everything
    drawing = page.locator("[data-drawing]")
    drawing.hover(position={"x": 2, "y": 2})
    expect(page.locator("[data-tile]")).to_contain_text("columns 0: 1 program: (0, 0, 0)")
    page.get_by_role("button", name="Play").click()
    expect(page.locator("[data-play]")).to_have_text("Pause")
    expect(said).to_contain_text(f"Program ({LAST}, 0, 0)", timeout=60_000)
    expect(page.locator("[data-play]")).to_have_text("Play")


def test_nothing_plays_for_who_wants_no_motion(page: Page):
    page.emulate_media(reduced_motion="reduce")
    page.goto(MAP)
    expect(page.get_by_role("button", name="Play")).to_be_hidden()
    expect(page.get_by_role("button", name="Previous program")).to_be_visible()
    page.locator("[data-keys]").press(" ")
    expect(page.locator("[data-play]")).to_have_attribute("aria-pressed", "false")


def test_without_scripts_the_server_draws_what_the_form_asks_for(browser: Browser, site: Site):
    context = browser.new_context(base_url=site.address(), java_script_enabled=False)
    page = context.new_page()
    page.goto(MAP)
    expect(page.get_by_role("img", name="60 rows of 64 tiles; 3840 touched")).to_be_visible()
    assert tiles(page, 0) == 0
    page.get_by_role("slider", name="Program").fill("0")
    page.get_by_role("radio", name="it alone").check()
    page.get_by_role("button", name="Show").click()
    expect(page.locator("[data-now]")).to_contain_text("Program (0, 0, 0)")
    assert 0 < tiles(page, 1) < 3840
    page.get_by_role("navigation", name="Loaded").get_by_role("link", name="w_ptr").click()
    expect(page.get_by_role("heading", name="w_ptr loaded")).to_be_visible()
    assert tiles(page, 5) == 64  # all ten programs load all of the weight
    context.close()


def test_the_roofline_comes_when_its_tab_is_opened_and_changes_in_place(page: Page):
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto("/problems/rms-norm/")
    expect(page.locator("#statement")).to_be_visible()
    assert not any("/roofline/" in url for url in asked)
    page.get_by_role("tab", name="Roofline").click()
    plot = page.locator("#roofline-plot")
    expect(plot.locator("rect.modelled").first).to_be_visible()
    expect(plot.get_by_role("link", name="H100 SXM")).to_have_attribute("aria-current", "true")
    plot.get_by_role("link", name="This site’s CPU").click()
    expect(plot.get_by_role("link", name="This site’s CPU")).to_have_attribute(
        "aria-current", "true"
    )
    expect(plot.get_by_role("link", name="This site’s CPU")).to_be_focused()
    assert page.url.endswith("/problems/rms-norm/#roofline")
    plot.locator("summary").click()
    expect(plot.get_by_role("table")).to_be_visible()


def test_without_scripts_the_roofline_is_a_page_that_is_linked(browser: Browser, site: Site):
    context = browser.new_context(base_url=site.address(), java_script_enabled=False)
    page = context.new_page()
    page.goto("/problems/rms-norm/")
    page.locator("#roofline a").click()
    expect(page.locator(".roofline-svg")).to_be_visible()
    page.get_by_role("link", name="B200").click()
    expect(page.get_by_role("link", name="B200")).to_have_attribute("aria-current", "true")
    context.close()
