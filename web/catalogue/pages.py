"""What the pages of a problem show, gathered from its declaration and from kernels/."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from django.template.loader import render_to_string
from django.utils.safestring import SafeString

import kernels
from problems.registry import get_problem
from problems.spec import Benchmark, Cost, Language, Problem
from web.catalogue.markup import highlight_code, render_markdown, render_parts
from web.hardware import HardwareKind, UnknownHardware, hardware_for

KERNELS = Path(kernels.__file__ or "").parent
NEVER_RUN = "CUDA C++, compiled, never run"


@dataclass(frozen=True)
class LanguageChoice:
    """A language one may write in here, the hardware that takes it and the file to begin with."""

    name: str
    label: str
    hardware: HardwareKind
    starter: str


@dataclass(frozen=True)
class BenchmarkRow:
    """A benchmark shape and the least work it needs."""

    hardware: str
    benchmark: Benchmark
    cost: Cost


@dataclass(frozen=True)
class Solution:
    """A reference kernel: its file's name, the language, the code as HTML and as text."""

    path: str
    label: str
    code: SafeString
    source: str


def language_choices(problem: Problem) -> tuple[LanguageChoice, ...]:
    """The languages for which this site has hardware and the problem a starter."""
    return tuple(_language_choices(problem))


def _language_choices(problem: Problem) -> Iterator[LanguageChoice]:
    for language in Language:
        if not (problem.package / "starters" / f"{language}.py").exists():
            continue
        try:
            kind = hardware_for(language)
        except UnknownHardware:
            continue
        yield LanguageChoice(language.value, language.label, kind, problem.starter(language))


def benchmark_rows(problem: Problem) -> tuple[BenchmarkRow, ...]:
    return tuple(
        BenchmarkRow(hardware.upper(), benchmark, problem.cost(benchmark.dims))
        for hardware, benchmarks in problem.benchmarks.items()
        for benchmark in benchmarks
    )


@lru_cache(maxsize=64)
def panes(slug: str) -> SafeString:
    """What a problem's page says to everybody alike, as HTML: half of what drawing the page costs."""
    problem = get_problem(slug)
    text = problem.text
    context = {
        "problem": problem,
        "statement": render_markdown(text["statement"]),
        "special": render_markdown(text["special"]),
        "derivation": render_markdown(text["derivation"]),
        "hints": render_parts(text["hints"]),
        "cases": [case for case in problem.cases if case.public],
        "hidden_cases": sum(not case.public for case in problem.cases),
        "benchmarks": benchmark_rows(problem),
    }
    return render_to_string("catalogue/_panes.html", context)


@lru_cache(maxsize=64)
def reference_solutions(slug: str) -> tuple[Solution, ...]:
    """The files of kernels/<slug>, by name; those that are compiled and never run come last."""
    python = [path for path in sorted((KERNELS / slug).glob("*.py")) if path.stem != "__init__"]
    return tuple(_solution(path) for path in (*python, *sorted((KERNELS / slug).glob("*.cu"))))


def _solution(path: Path) -> Solution:
    source = path.read_text(encoding="utf-8")
    return Solution(
        path=f"kernels/{path.parent.name}/{path.name}",
        label=NEVER_RUN if path.suffix == ".cu" else _label(path.stem),
        code=highlight_code(source, "cuda" if path.suffix == ".cu" else "python"),
        source=source,
    )


def _label(stem: str) -> str:
    """Triton for `triton`; "Triton, two passes" for `triton_two_passes`, another way of doing it."""
    language, _, way = stem.partition("_")
    labels = {each.value: each.label for each in Language}
    label = labels.get(language, language)
    return f"{label}, {way.replace('_', ' ')}" if way else label


@lru_cache(maxsize=64)
def solution_notes(slug: str) -> SafeString | None:
    """kernels/<slug>/notes.md as HTML."""
    path = KERNELS / slug / "notes.md"
    return render_markdown(path.read_text(encoding="utf-8")) if path.exists() else None
