"""What a problem says to people: complete, about its own arguments, and typeset without a mistake."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from latex2mathml.converter import convert

from problems import Language, Problem
from problems.spec import GradientSpec, TensorSpec
from tests.problems.every import PROBLEMS, each_problem

KERNELS = Path(__file__).parents[2] / "kernels"
SECTIONS = ["Forward", "Given", "Return", "Memory layouts"]
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
DISPLAYED = re.compile(r"\$\$(.+?)\$\$", re.DOTALL)
INLINE = re.compile(r"\$([^$\n]+?)\$")


def headings(markdown: str) -> list[str]:
    return re.findall(r"^## (.+)$", markdown, re.MULTILINE)


def texts(problem: Problem) -> dict[str, str]:
    notes = (KERNELS / problem.slug / "notes.md").read_text(encoding="utf-8")
    return {**problem.text, "notes": notes}


def formulas(markdown: str) -> list[str]:
    prose = CODE.sub("", markdown)
    return DISPLAYED.findall(prose) + INLINE.findall(DISPLAYED.sub("", prose))


FORMULAS = sorted(
    {(p.slug, name, f) for p in PROBLEMS for name, t in texts(p).items() for f in formulas(t)}
)


@each_problem
def test_every_section_of_the_page_is_there(problem: Problem):
    assert set(problem.text) == {"statement", "special", "derivation", "hints"}
    assert headings(problem.text["statement"]) == SECTIONS
    assert headings(problem.text["hints"]) == ["Hint 1", "Hint 2", "Hint 3"]
    for name, text in texts(problem).items():
        assert len(text) > 500, name


@each_problem
def test_the_statement_lists_every_argument_and_gradient_with_its_shape_and_dtype(
    problem: Problem,
):
    rows = [line for line in problem.text["statement"].splitlines() if line.startswith("| `")]
    tensors: list[TensorSpec | GradientSpec] = [*problem.arguments, *problem.gradients]
    declared = {
        t.name: (f"| `{t.name}` | {_shape(t.shape)} | {str(t.dtype).removeprefix('torch.')} |")
        for t in tensors
    }
    assert len(rows) == len(declared)
    for row, (name, start) in zip(rows, declared.items(), strict=True):
        assert row.startswith(start), name


def _shape(names: tuple[str, ...]) -> str:
    return f"({names[0]},)" if len(names) == 1 else f"({', '.join(names)})"


@each_problem
def test_the_statement_gives_the_call(problem: Problem):
    call = problem.signature.split(" -> ", maxsplit=1)[0]
    assert f"`{call}`" in problem.text["statement"]


@each_problem
def test_the_derivation_goes_by_steps_to_a_formula(problem: Problem):
    text = problem.text["derivation"]
    assert len([h for h in headings(text) if h.startswith("Step ")]) >= 3
    assert len(DISPLAYED.findall(text)) >= 3


@each_problem
def test_dollars_pair_up(problem: Problem):
    for name, text in texts(problem).items():
        prose = CODE.sub("", text)
        assert "$" not in INLINE.sub("", DISPLAYED.sub("", prose)), name


@pytest.mark.parametrize(
    "formula", [f for *_, f in FORMULAS], ids=[f"{slug}-{name}" for slug, name, _ in FORMULAS]
)
def test_mathematics_is_typeset_without_a_leftover_command(formula: str):
    mathml = convert(formula)
    assert mathml.startswith("<math")
    assert "\\" not in mathml, "latex2mathml does not know a command and prints it"
    assert re.findall(r"<merror", mathml) == []


@each_problem
def test_prose_wraps_by_itself_and_has_no_trailing_blanks(problem: Problem):
    for name, text in texts(problem).items():
        assert text.endswith("\n"), name
        assert not re.search(r"[ \t]+$", text, re.MULTILINE), name
        assert "\t" not in text, name


@each_problem
def test_title_and_summary_fit_a_catalogue_row(problem: Problem):
    assert 0 < len(problem.title) <= 40
    assert problem.summary.endswith(".")
    assert len(problem.summary) <= 110
    assert problem.tags
    assert problem.models


@pytest.mark.parametrize("language", list(Language))
@each_problem
def test_a_starter_exists_for_every_language_and_says_what_is_missing(
    problem: Problem, language: Language
):
    starter = problem.starter(language)
    assert "TODO" in starter
    for argument in problem.arguments:
        assert re.search(rf"^    {argument.name} +\(", starter, re.MULTILINE), argument.name
