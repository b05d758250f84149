"""What people do on the site, in their words."""

from __future__ import annotations

import re
import time
import uuid

from playwright.sync_api import Page, expect

# A timed submission on a busy machine with two cores; what is waited for usually comes in seconds.
PATIENCE_MS = 240_000
PASSWORD = "nine-greek-letters-42"


def sign_up(page: Page) -> str:
    """Make an account from the catalogue; the user's name."""
    name = f"ada-{uuid.uuid4().hex[:8]}"
    page.goto("/")
    page.get_by_role("link", name="Sign up").click()
    page.locator("input[name=username]").fill(name)
    page.locator("input[name=password1]").fill(PASSWORD)
    page.locator("input[name=password2]").fill(PASSWORD)
    page.get_by_role("main").get_by_role("button", name="Sign up").click()
    expect(page.get_by_role("link", name=name)).to_be_visible()
    return name


def choose(page: Page, language: str) -> None:
    page.get_by_role("radio", name=language).check()


def write(page: Page, source: str) -> None:
    """Replace all that is in the editor, by pasting."""
    editor = page.locator(".cm-content")
    editor.click()
    page.keyboard.press("Control+a")
    editor.evaluate(
        """(element, text) => {
            const data = new DataTransfer();
            data.setData("text/plain", text);
            element.dispatchEvent(
                new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true}));
        }""",
        source,
    )
    expect(page.locator("textarea[name=source]")).to_have_value(source)


def press(page: Page, mode: str) -> None:
    page.locator(f"button[data-mode={mode}]").click()


def follow(page: Page) -> list[str]:
    """Watch the console until the verdict; the different things it said on the way."""
    said: list[str] = []
    heading = page.locator("#console .status h2, #console .verdict h2").first
    deadline = time.monotonic() + PATIENCE_MS / 1000
    while time.monotonic() < deadline:
        words = re.sub(r"\s+", " ", heading.text_content() or "").strip()
        if not said or said[-1] != words:
            said.append(words)
        if page.locator("#console .verdict").count():
            return said[:-1]
        page.wait_for_timeout(30)
    raise AssertionError(f"no verdict came; the page said {said}")
