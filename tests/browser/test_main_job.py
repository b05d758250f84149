"""The main job: write a backward kernel, learn why it is wrong, put it right, stand on the board."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.steps import choose, follow, press, sign_up, write
from tests.serve.site import ROOT

RIGHT = {
    "PyTorch": (ROOT / "kernels/rms_norm/pytorch.py").read_text(encoding="utf-8"),
    "Triton": (ROOT / "kernels/rms_norm/triton.py").read_text(encoding="utf-8"),
}
# dweight summed over one block only: the first 128 rows; the rows of the first program.
WRONG = {
    "PyTorch": (ROOT / "tests/wrong/rms_norm/dweight_over_one_block.py").read_text("utf-8"),
    "Triton": RIGHT["Triton"].replace("partial, dweight, programs, N", "partial, dweight, 1, N"),
}

# On a busy machine the clocks may part, and what is right is not ranked: a user then submits it again.
SUBMISSIONS = 3


def test_the_wrong_triton_kernel_is_another_one_than_the_right_one():
    assert WRONG["Triton"] != RIGHT["Triton"]


@pytest.mark.parametrize(
    ("language", "board", "reason"),
    [
        ("PyTorch", "CPU", "dweight sums over the first 128 of M only"),
        ("Triton", "interpreter", "dweight is wrong"),
    ],
)
def test_from_sign_up_over_a_wrong_kernel_to_the_board(
    page: Page, language: str, board: str, reason: str
):
    name = sign_up(page)
    page.goto("/")
    page.get_by_role("link", name="RMSNorm").first.click()
    choose(page, language)
    page.evaluate("window.neverReloaded = true")

    write(page, WRONG[language])
    press(page, "submit")
    on_the_way = follow(page)
    assert any(re.match("Queued|Starting|Compiling|Case|Timing", words) for words in on_the_way)
    verdict = page.locator("#console .verdict")
    expect(verdict).to_contain_text("Wrong gradient")
    headline = verdict.locator(".headline")
    expect(headline).to_contain_text("dweight is wrong in the public case")
    expect(headline).to_contain_text("dx is right there")
    expect(verdict).to_contain_text(reason)
    many_rows = verdict.locator("details.case", has_text="many_rows").first
    many_rows.evaluate("details => { details.open = true }")
    expect(many_rows).to_contain_text("M=300")
    expect(many_rows).to_contain_text("expected")
    expect(many_rows).to_contain_text(re.compile(r"Wrong elements\s*64 of 64"))

    write(page, RIGHT[language])
    for _ in range(SUBMISSIONS):
        press(page, "submit")
        expect(verdict).to_have_count(0)
        assert follow(page)
        expect(verdict).to_contain_text("Accepted")
        if "Not ranked" not in verdict.inner_text():
            break
    assert page.evaluate("window.neverReloaded") is True

    page.get_by_role("link", name="Leaderboard").first.click()
    page.get_by_role("navigation", name="Hardware").get_by_role(
        "link", name=re.compile(board)
    ).click()
    own = page.locator("tr.own")
    expect(own).to_have_count(1)
    expect(own).to_contain_text(name)
    expect(own).to_contain_text("you")
