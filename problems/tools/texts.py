"""What a problem says to people: complete, about its own arguments, and typeset without a mistake."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from latex2mathml.converter import convert
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

from problems.pairs import functions_of
from problems.spec import GradientSpec, Problem, TensorSpec
from problems.tools.solutions import ROOT

SECTIONS = ("Forward", "Given", "Return", "Memory layouts")
HINTS = ("Hint 1", "Hint 2", "Hint 3")
PARTS = {"statement", "special", "derivation", "hints"}
SHORTEST = 500  # characters of a text that says something
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
_DISPLAYED = re.compile(r"\$\$(.+?)\$\$", re.DOTALL)
_INLINE = re.compile(r"\$([^$\n]+?)\$")


def headings(markdown: str) -> list[str]:
    """The headings of the second level."""
    return re.findall(r"^## (.+)$", markdown, re.MULTILINE)


def texts(problem: Problem) -> Mapping[str, str]:
    """The problem's texts and the notes on its kernels, by name."""
    notes = ROOT / "kernels" / problem.slug / "notes.md"
    return {
        **problem.text,
        **({"notes": notes.read_text(encoding="utf-8")} if notes.exists() else {}),
    }


def formulas(markdown: str) -> list[str]:
    """The LaTeX of every formula outside of code, displayed ones first."""
    prose = _CODE.sub("", markdown)
    return _DISPLAYED.findall(prose) + _INLINE.findall(_DISPLAYED.sub("", prose))


def displayed(markdown: str) -> list[str]:
    """The LaTeX of every formula on lines of its own."""
    return _DISPLAYED.findall(markdown)


def formula_objection(latex: str) -> str:
    """Empty if a formula becomes MathML with nothing left over."""
    try:
        mathml: str = convert(latex.strip())
    except Exception as error:  # noqa: BLE001 - a converter may raise anything; what it says is shown
        return f"cannot be converted ({type(error).__name__}): {latex.strip()}"
    if "\\" in mathml or "<merror" in mathml:
        return f"has a command that MathML is not made of: {latex.strip()}"
    return ""


def rendered(markdown: str) -> str:
    """The text as HTML with MathML, as a page shows it but for its code."""
    renderer = MarkdownIt("commonmark", {"html": False}).enable("table")
    renderer.use(
        dollarmath_plugin, double_inline=True, renderer=lambda latex, _: convert(latex.strip())
    )
    html: str = renderer.render(markdown)
    return html


def text_objections(problem: Problem) -> list[str]:
    """What is missing or wrong in the texts, a sentence each."""
    found = texts(problem)
    missing = (PARTS | {"notes"}) - set(found)
    return [f"{name}.md is missing" for name in sorted(missing)] + [
        f"{name}.md {objection}"
        for name, text in found.items()
        for objection in (*_structure(problem, name, text), *_typesetting(text))
    ]


def _structure(problem: Problem, name: str, text: str) -> Iterator[str]:
    if len(text) <= SHORTEST:
        yield f"has {len(text)} characters, which is too short to say something"
    if name == "statement":
        if tuple(headings(text)) != SECTIONS:
            yield f"must have the sections {', '.join(SECTIONS)}"
        yield from _table_objections(problem, text)
        for function in functions_of(problem):
            if f"`{function.call}`" not in text:
                yield f"does not give the call `{function.call}`"
    if name == "hints" and tuple(headings(text)) != HINTS:
        yield f"must have the sections {', '.join(HINTS)}"
    if name == "derivation":
        if len([h for h in headings(text) if h.startswith("Step ")]) < 3:
            yield "has fewer than three steps, '## Step 1: ...'"
        if len(displayed(text)) < 3:
            yield "has fewer than three displayed formulas"


def _table_objections(problem: Problem, statement: str) -> Iterator[str]:
    rows = [line for line in statement.splitlines() if line.startswith("| `")]
    outputs = () if problem.pair is None else (problem.pair.output,)
    given = (*problem.arguments, *problem.buffers)
    tensors: list[TensorSpec | GradientSpec] = [*given, *outputs, *problem.gradients]
    if len(rows) != len(tensors):
        yield f"lists {len(rows)} tensors, the problem has {len(tensors)}"
    for row, tensor in zip(rows, tensors, strict=False):
        start = table_row(tensor)
        if not row.startswith(start):
            yield f"must have a row that begins with {start}"


def table_row(tensor: TensorSpec | GradientSpec) -> str:
    """How the row of a tensor begins in the statement's tables."""
    names = tensor.shape
    shape = f"({names[0]},)" if len(names) == 1 else f"({', '.join(names)})"
    return f"| `{tensor.name}` | {shape} | {str(tensor.dtype).removeprefix('torch.')} |"


def _typesetting(text: str) -> Iterator[str]:
    broken = [o for o in map(formula_objection, formulas(text)) if o]
    yield from broken
    prose = _CODE.sub("", text)
    if "$" in _INLINE.sub("", _DISPLAYED.sub("", prose)):
        yield "has a dollar sign without a partner"
    elif not broken and rendered(text).count("<math") < len(formulas(text)):
        yield "has formulas that the page does not show as such: is a blank line missing?"
    if re.search(r"[ \t]+$", text, re.MULTILINE) or "\t" in text or not text.endswith("\n"):
        yield "has trailing blanks, tabs, or no end of its last line"
