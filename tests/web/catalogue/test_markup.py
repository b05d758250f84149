"""Markdown and code as HTML."""

from __future__ import annotations

import re

import pytest

from problems.registry import all_problems
from web.catalogue.markup import formula, highlight_code, render_markdown, render_parts
from web.catalogue.pages import KERNELS

TEXTS = {
    f"{problem.slug}/{name}": text
    for problem in all_problems()
    for name, text in problem.text.items()
} | {
    f"kernels/{path.parent.name}": path.read_text(encoding="utf-8")
    for path in KERNELS.glob("*/notes.md")
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_every_formula_of_ours_becomes_mathml(text: str) -> None:
    html = render_markdown(text)
    assert 'class="formula"' not in html
    outside_code = re.sub(r"<(pre|code)\b.*?</\1>", "", html, flags=re.DOTALL)
    assert "$" not in outside_code
    assert "\\" not in re.sub(r"<annotation.*?</annotation>", "", outside_code, flags=re.DOTALL)
    assert " style=" not in html


def test_a_formula_between_single_dollars_is_inline_and_between_double_a_block() -> None:
    assert '<math xmlns="http://www.w3.org/1998/Math/MathML" display="inline"' in render_markdown(
        "the scale $r_i$"
    )
    assert 'display="block"' in render_markdown("$$\nx = 1\n$$")


def test_raw_html_is_shown_and_not_obeyed() -> None:
    html = render_markdown("<script>alert(1)</script>\n\nand <b>so</b> `<i>`")
    assert "<script" not in html
    assert "<b>" not in html
    assert "&lt;script&gt;" in html


@pytest.mark.parametrize("link", ["javascript:alert(1)", "data:text/html,x", "vbscript:x"])
def test_no_link_runs_code(link: str) -> None:
    assert "href" not in render_markdown(f"[press]({link})")


def test_a_formula_that_cannot_be_converted_is_shown_as_written() -> None:
    shown = formula(r"\frac{<b>", block=False)
    assert "<b>" not in shown
    assert "frac" in shown


@pytest.mark.parametrize("latex", [r"\bar y", r"\bar{x}_i = \bar y w"])
def test_a_bar_is_drawn_as_a_bar_above_its_letter(latex: str) -> None:
    shown = formula(latex, block=False)
    assert shown.count('<mover accent="true">') == shown.count("&#x203E;") == latex.count("bar")
    assert "&#x000AF;" not in shown


def test_headings_stand_below_those_of_the_page() -> None:
    assert render_markdown("## Step 1").strip() == "<h3>Step 1</h3>"


def test_code_is_coloured_by_classes_and_escaped() -> None:
    html = highlight_code('x = "<b>"  # note')
    assert 'class="highlight"' in html
    assert "<b>" not in html
    assert "style=" not in html
    assert 'class="k"' in render_markdown("```python\nreturn x\n```")
    assert "return" in render_markdown("```nosuchlanguage\nreturn <b>\n```")
    assert "<b>" not in render_markdown("```nosuchlanguage\nreturn <b>\n```")


def test_parts_are_split_at_their_headings() -> None:
    parts = render_parts("## Hint 1\n\nFirst.\n\n## Hint 2\n\nSecond.\n")
    assert [(title, str(body).strip()) for title, body in parts] == [
        ("Hint 1", "<p>First.</p>"),
        ("Hint 2", "<p>Second.</p>"),
    ]


def test_code_in_markdown_is_one_coloured_box_without_an_empty_line_at_its_end():
    html = render_markdown('```python\nx = "<b>"\n```\n')
    assert html.count("<pre") == html.count("</pre>") == 1
    assert html.startswith('<pre class="highlight"><code>')
    assert html.endswith("</span></code></pre>\n")
    assert "&lt;b&gt;" in html


def test_columns_of_figures_are_aligned_by_a_class_since_styles_are_forbidden():
    html = render_markdown("| shape | time |\n| --- | ---: |\n| M=8 | 481 µs |\n")
    assert "style" not in html
    assert '<td class="num">481 µs</td>' in html
    assert "<td>M=8</td>" in html
