"""All checks of one problem, each with what it objects to and what it found worth knowing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from problems.mutants import mutants_of
from problems.spec import Language, Problem
from problems.tools.closed_forms import closed_form_objection, not_finite
from problems.tools.costs import cost_objections
from problems.tools.refusal import in_turn, mutant_objection
from problems.tools.skeleton import left_to_fill_in
from problems.tools.solutions import (
    ROOT,
    Unfit,
    compiled,
    language_of,
    solution_files,
    starter_file,
    traffic,
)
from problems.tools.texts import text_objections
from problems.tools.verdicts import judged

SEEDS = range(20)
FEWEST_MUTANTS = 6
RUN_SECONDS = 3.0  # in which a Run should answer, on a machine with nothing else to do


@dataclass
class Outcome:
    """What a check found: `objections` must go away, `notes` are for information."""

    name: str
    objections: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0


def check(problem: Problem) -> Iterator[Outcome]:
    """The outcomes as they are found. Of an unfinished problem there is only the first."""
    unfinished = Outcome("filled in", left_to_fill_in(problem))
    yield unfinished
    if unfinished.objections:
        return
    for name, run in CHECKS.items():
        outcome = Outcome(name)
        start = time.perf_counter()
        try:
            run(problem, outcome)
        except Unfit as unfit:
            outcome.objections.append(str(unfit))
        outcome.seconds = time.perf_counter() - start
        yield outcome


def _closed_form(problem: Problem, outcome: Outcome) -> None:
    found = [closed_form_objection(problem, c, seed) for c in problem.cases for seed in (0, 1)]
    outcome.objections += [o for o in found if o]


def _finite(problem: Problem, outcome: Outcome) -> None:
    for case in problem.cases:
        found = ", ".join(not_finite(problem, case, 0))
        if found:
            outcome.objections.append(f"{case.name} is not finite in: {found}")


def _cost(problem: Problem, outcome: Outcome) -> None:
    outcome.objections += cost_objections(problem)
    case = max((c for c in problem.cases if c.public), key=lambda c: problem.cost(c.dims).bytes)
    least = problem.cost(case.dims).bytes
    for file in _files(problem, Language.TRITON):
        moved, touched = traffic(problem, file, case.name)
        outcome.notes.append(
            f"{file.name}: kernels touch {touched / least:.2f} and move {moved / least:.2f} times "
            f"the least in {case.name}"
        )


def _texts(problem: Problem, outcome: Outcome) -> None:
    outcome.objections += text_objections(problem)


def _mutants(problem: Problem, outcome: Outcome) -> None:
    mutants = mutants_of(problem)
    outcome.notes.append(f"{len(mutants)} mutants on {len(SEEDS)} seeds")
    if len(mutants) < FEWEST_MUTANTS:
        outcome.objections.append(f"has {len(mutants)} mutants; write at least {FEWEST_MUTANTS}")
    for mutant in mutants:
        objection = mutant_objection(problem, mutant, SEEDS)
        if objection:
            outcome.objections.append(f"{mutant.name}: {objection}")


def _references(problem: Problem, outcome: Outcome) -> None:
    files = solution_files(problem)
    for language in Language:
        if f"{language}.py" not in {f.name for f in files}:
            outcome.objections.append(f"kernels/{problem.slug}/{language}.py is missing")
    public = [(c.name, 0) for c in problem.cases if c.public]
    for file in files:
        found = judged(problem, file, [*in_turn(problem, SEEDS), *public])
        for case, gradients in found.wrong.items():
            outcome.objections.append(f"{file.name}: {', '.join(gradients)} wrong in {case}")
        seconds = sum(found.seconds[-len(public) :])
        slow = "" if seconds <= RUN_SECONDS else f", more than the {RUN_SECONDS:g} s of a Run"
        outcome.notes.append(f"{file.name}: public cases take {seconds:.1f} s{slow}")


def _compilation(problem: Problem, outcome: Outcome) -> None:
    for file in _files(problem, Language.TRITON):
        kernels = compiled(problem.slug, file)
        outcome.objections += [
            f"{file.name}: {k.kernel} spills {k.spilled} bytes a thread for sm_{k.target} "
            f"on {k.benchmark}"
            for k in kernels
            if k.spilled
        ]
        registers = max((k.registers for k in kernels), default=0)
        outcome.notes.append(f"{file.name}: at most {registers} registers a thread")


def _starters(problem: Problem, outcome: Outcome) -> None:
    public = [(c.name, 0) for c in problem.cases if c.public]
    for language in Language:
        file = starter_file(problem, language)
        if not file.exists():
            outcome.objections.append(f"{file.relative_to(ROOT)} is missing")
            continue
        found = judged(problem, file, public)
        if not found.wrong:
            outcome.objections.append(f"{file.name}: every public case accepts it")
        if len(found.wrong) == len(public):
            outcome.notes.append(f"{file.name}: wrong in every public case")
        told = found.diagnosis or "no diagnosis"
        outcome.notes.append(f"{file.name}: {sum(found.seconds):.1f} s; {told}")


def _files(problem: Problem, language: Language) -> list[Path]:
    return [f for f in solution_files(problem) if language_of(f) is language]


CHECKS: dict[str, Callable[[Problem, Outcome], None]] = {
    "closed form equals float64 autograd": _closed_form,
    "cases are finite in every dtype": _finite,
    "texts are complete and typeset": _texts,
    "cost model is an ideal kernel's": _cost,
    "references are accepted": _references,
    "Triton compiles without spilling": _compilation,
    "starters run and are told what is wrong": _starters,
    "every mutant is refused": _mutants,
}
