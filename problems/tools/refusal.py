"""Whether the judge's criterion refuses wrong backwards and accepts honest ones, seed after seed."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from problems.mutants import Backward, Mutant
from problems.registry import get_problem
from problems.spec import Case, Problem, Tensors
from runner.compare import Expectation, compare, expect

CASES_PER_SEED = 2


@lru_cache(maxsize=400)
def _call(slug: str, case_name: str, seed: int) -> tuple[Tensors, Expectation]:
    problem = get_problem(slug)
    (case,) = (c for c in problem.cases if c.name == case_name)
    arguments = problem.make_arguments(case, seed)
    return arguments, expect(problem, arguments)


def wrong_gradients(problem: Problem, backward: Backward, case: Case, seed: int) -> set[str]:
    """The names of the gradients that the criterion refuses in one case."""
    arguments, expectation = _call(problem.slug, case.name, seed)
    reports = compare(problem, backward(**arguments), expectation)
    return {r.name for r in reports if not r.passed}


def mutant_objection(problem: Problem, mutant: Mutant, seeds: Iterable[int]) -> str:
    """Empty if on every seed all that `mutant` gets wrong is refused, and nothing else; else where not.

    A seed ends when everything wrong was refused once. The next begins with the cases that showed it.
    """
    order = sorted(problem.cases, key=lambda c: problem.output_bytes(c.dims))
    for seed in seeds:
        caught: set[str] = set()
        for case in list(order):
            wrong = wrong_gradients(problem, mutant.backward, case, seed)
            if not wrong <= set(mutant.gradients):
                also = ", ".join(sorted(wrong - set(mutant.gradients)))
                return f"{also} is refused too, in {case.name} on seed {seed}"
            if wrong - caught:
                order.remove(case)
                order.insert(0, case)
            caught |= wrong
            if caught == set(mutant.gradients):
                break
        else:
            missed = ", ".join(sorted(set(mutant.gradients) - caught))
            return f"{missed} passes every case on seed {seed}"
    return ""


def honest_objection(problem: Problem, backward: Backward, seeds: Iterable[int]) -> str:
    """Empty if `backward` is accepted on every seed, some cases on each in turn; else where not."""
    cases = {case.name: case for case in problem.cases}
    for name, seed in in_turn(problem, seeds):
        wrong = wrong_gradients(problem, backward, cases[name], seed)
        if wrong:
            return f"{', '.join(sorted(wrong))} is refused in {name} on seed {seed}"
    return ""


def in_turn(problem: Problem, seeds: Iterable[int]) -> list[tuple[str, int]]:
    """Names of some cases for each seed, so that over the seeds all cases take turns."""
    cases = problem.cases
    return [
        (cases[(CASES_PER_SEED * seed + turn) % len(cases)].name, seed)
        for seed in seeds
        for turn in range(CASES_PER_SEED)
    ]
