"""The skeleton of a new problem, and what is left to fill in of it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from problems.spec import Problem
from problems.tools.solutions import ROOT

MARK = "FILL IN"
_TEMPLATES = Path(__file__).parent / "templates"
_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_TEXTS = {".py", ".md"}


class UnusableName(Exception):
    """No problem can be called that; the message says why."""


def folders(slug: str, root: Path) -> dict[str, Path]:
    """Where the parts of a problem are, by the name of their templates' folder."""
    return {
        "problem": root / "problems" / slug,
        "kernels": root / "kernels" / slug,
        "wrong": root / "tests" / "wrong" / slug,
    }


def write_skeleton(name: str, root: Path = ROOT) -> list[Path]:
    """Writes the files of a problem called `name`; hyphens and underscores mean the same. Returns them.

    Raises:
        UnusableName: it is not made of lower-case words, or something is there already.
    """
    slug = name.replace("-", "_")
    if not _NAME.fullmatch(slug):
        raise UnusableName(
            f"{name!r} is not a name such as rms_norm: lower-case words, underscores"
        )
    places = folders(slug, root)
    for place in places.values():
        if place.exists():
            raise UnusableName(f"{place.relative_to(root)} exists already")
    title = slug.replace("_", " ").capitalize()
    written = []
    for part, place in places.items():
        for template in sorted((_TEMPLATES / part).rglob("*.txt")):
            target = place / template.relative_to(_TEMPLATES / part).with_suffix("")
            text = template.read_text(encoding="utf-8")
            text = text.replace("@SLUG@", slug).replace("@TITLE@", title)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(
                _sorted_imports(text) if target.suffix == ".py" else text, encoding="utf-8"
            )
            written.append(target)
    return written


def _sorted_imports(source: str) -> str:
    """`source` with the imports of our own modules in order, which depends on the problem's name."""
    imports = [
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("problems")
    ]
    if not imports:
        return source
    lines = source.splitlines(keepends=True)
    begin, end = imports[0].lineno - 1, imports[-1].end_lineno
    texts = {n.module or "": "".join(lines[n.lineno - 1 : n.end_lineno]) for n in imports}
    return "".join((*lines[:begin], *(texts[m] for m in sorted(texts)), *lines[end:]))


def left_to_fill_in(problem: Problem) -> list[str]:
    """Every place of a problem's files that still says so, and every file that is not there."""
    found = []
    for part, place in folders(problem.slug, ROOT).items():
        files = [f for f in sorted(place.rglob("*")) if f.suffix in _TEXTS]
        if not files:
            found.append(f"{place.relative_to(ROOT)} has no files: its {part} is missing")
        for file in files:
            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
                if MARK in line:
                    found.append(f"{file.relative_to(ROOT)}:{number}: {line.strip()}")
    return found
