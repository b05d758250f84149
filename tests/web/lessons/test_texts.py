"""The lessons' texts: the code runs, formulas are typeset, figures are those of the script."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from django.test import Client

from web.lessons.declared import LESSONS, TEXTS, Exercise, Lesson
from web.lessons.figures import FIGURES, TEMPLATES
from web.lessons.reading import code_blocks, parts, program

each_lesson = pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.slug)


def html_of(lesson: Lesson) -> str:
    return "".join(part.html for part in parts(lesson))


@each_lesson
def test_the_code_runs_from_top_to_bottom(lesson: Lesson, tmp_path: Path):
    """Triton's kernels in its interpreter. A traceback has the lines of the lesson's text."""
    lines = [""] * len(lesson.text.splitlines())
    for block in code_blocks(lesson):
        code = block.code.splitlines()
        lines[block.line - 1 : block.line - 1 + len(code)] = code
    file = tmp_path / f"{lesson.slug}.py"  # Triton reads its kernels' source from a file
    file.write_text("\n".join(lines), encoding="utf-8")
    exec(compile(file.read_text(encoding="utf-8"), file, "exec"), {"__name__": lesson.slug})


@each_lesson
def test_every_block_asserts_what_the_text_says(lesson: Lesson):
    blocks = code_blocks(lesson)
    assert len(blocks) >= 4
    for block in blocks:
        nodes = ast.walk(ast.parse(block.code))
        asserting = [
            node
            for node in nodes
            if isinstance(node, ast.Assert)
            or (isinstance(node, ast.Attribute) and node.attr == "assert_close")
        ]
        assert asserting, f"{lesson.slug}.md:{block.line} asserts nothing"


@each_lesson
def test_a_line_of_code_fits_the_page(lesson: Lesson):
    for block in code_blocks(lesson):
        for line in block.code.splitlines():
            assert len(line) <= 92, line


@each_lesson
def test_the_file_of_the_code_is_the_blocks_in_order(lesson: Lesson):
    compile(program(lesson), lesson.slug, "exec")
    assert all(block.code in program(lesson) for block in code_blocks(lesson))


@each_lesson
def test_formulas_and_markdown_are_typeset(lesson: Lesson):
    html = html_of(lesson)
    assert html.count("<math") >= 10
    assert 'class="formula"' not in html  # one that the converter did not take
    prose = re.sub(r"<(pre|code)[^>]*>.*?</\1>", "", html, flags=re.DOTALL)
    assert "$" not in prose
    assert "](" not in prose
    assert "**" not in prose
    assert "style=" not in html


@each_lesson
def test_sources_are_named_and_linked(lesson: Lesson):
    sources = lesson.text.partition("# Sources")[2]
    entries = [line for line in sources.splitlines() if line.startswith("- ")]
    assert len(entries) >= 3
    assert all("](https://" in entry for entry in entries)


@pytest.mark.django_db
@each_lesson
def test_links_within_the_site_lead_somewhere(lesson: Lesson, client: Client):
    for address in re.findall(r'href="(/[^"]*)"', html_of(lesson)):
        assert client.get(address).status_code == 200, address


def test_every_figure_is_shown_once_and_nothing_else_is():
    shown = [part.figure for lesson in LESSONS for part in parts(lesson) if part.figure]
    assert sorted(shown) == sorted(f"lessons/figures/{name}.svg" for name in FIGURES)
    assert all(any(part.figure for part in parts(lesson)) for lesson in LESSONS)


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_as_the_script_draws_it(name: str):
    drawn = FIGURES[name]()
    assert (TEMPLATES / f"{name}.svg").read_text(encoding="utf-8") == drawn, (
        "draw it again: python -m web.lessons.figures"
    )


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_leaves_colours_to_the_style_sheet_and_says_what_it_shows(name: str):
    drawn = FIGURES[name]()
    assert not re.search(r'\b(style|fill|stroke|color|id)="', drawn)
    assert len(re.findall(r'aria-label="[^"]{40,}"', drawn)) == 1
    styles = (Path("web") / "static" / "lessons.css").read_text(encoding="utf-8")
    for kind in set(" ".join(re.findall(r'class="([^"]*)"', drawn)).split()):
        assert f".figure .{kind} " in styles, kind


def test_every_text_is_a_lesson():
    assert {path.stem for path in TEXTS.glob("*.md")} == {lesson.slug for lesson in LESSONS}


@each_lesson
def test_a_lesson_leads_to_problems_of_this_site(lesson: Lesson):
    assert len(lesson.practice) >= 3
    assert all(task.endswith(".") for _, task in lesson.practice)


def test_an_exercise_whose_problem_is_not_here_is_left_out():
    lesson = Lesson("x", "X", "X.", (Exercise("no_such_problem", "A."), Exercise("softmax", "B.")))
    assert [(problem.slug, task) for problem, task in lesson.practice] == [("softmax", "B.")]
