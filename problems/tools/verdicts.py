"""What the judge's criterion says of a file: that a reference is right, what a starter lacks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from problems.spec import Problem
from problems.tools.solutions import Pair, gradients_of
from runner.compare import compare, expect
from runner.diagnosis import Failure, diagnose


@dataclass(frozen=True)
class Judged:
    """What is wrong with a file, by case, and in a sentence where known; the seconds of each call."""

    wrong: dict[str, tuple[str, ...]]
    diagnosis: str
    seconds: Sequence[float]


def judged(problem: Problem, file: Path, pairs: Sequence[Pair]) -> Judged:
    """`file` on the cases and seeds of `pairs`.

    Raises:
        Unfit: it does not run as a submission must.
    """
    cases = {case.name: case for case in problem.cases}
    found, seconds = gradients_of(problem, file, pairs)
    wrong: dict[str, tuple[str, ...]] = {}
    failures = []
    for (name, seed), returned in zip(pairs, found, strict=True):
        arguments = problem.make_arguments(cases[name], seed)
        expectation = expect(problem, arguments)
        reports = compare(problem, returned, expectation)
        if not all(r.passed for r in reports):
            wrong[name] = tuple(r.name for r in reports if not r.passed)
            flags = tuple(not r.passed for r in reports)
            failures.append(
                Failure(cases[name].dims, arguments, returned, expectation.references, flags)
            )
    return Judged(wrong, diagnose(problem, failures), seconds)
