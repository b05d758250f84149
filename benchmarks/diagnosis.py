"""Does the judge say rightly what is wrong? ``python -m benchmarks.diagnosis [PROBLEM ...]``.

Every mutant of every problem on all its cases, with many seeds: how often the diagnosis is the right
one, how often there is none, and whether it is ever a false one. Writes
``benchmarks/results/diagnosis.md``.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import torch

from problems import Problem, all_problems, get_problem
from problems.mutants import Mutant, mutants_of
from problems.spec import Case, Tensors
from runner.compare import Expectation, compare, expect
from runner.diagnosis import Failure, findings

RESULTS = Path(__file__).parent / "results" / "diagnosis.md"
FIRST_SEED = 100  # the tests have others


@dataclass
class Tally:
    """What was said of the mutants of one problem; `false` names each that was told another kind."""

    right: int = 0
    silent: int = 0
    false: Counter[str] = field(default_factory=Counter)


Prepared = list[tuple[Case, Tensors, Expectation]]


def prepared(problem: Problem, seed: int) -> Prepared:
    """All cases with their arguments and what is expected of them."""
    made = [(case, problem.make_arguments(case, seed)) for case in problem.cases]
    return [(case, arguments, expect(problem, arguments)) for case, arguments in made]


def said(problem: Problem, mutant: Mutant, cases: Prepared) -> set[str]:
    """The kinds of mistake that the judge names."""
    failures = []
    for case, arguments, expectation in cases:
        returned = mutant.backward(**arguments)
        reports = compare(problem, returned, expectation)
        wrong = tuple(not r.passed for r in reports)
        if any(wrong):
            references = expectation.references
            failures.append(Failure(case.dims, arguments, tuple(returned), references, wrong))
    return {finding.kind.value for finding in findings(problem, failures)}


def tally(problem: Problem, seeds: range) -> Tally:
    total = Tally()
    for seed in seeds:
        cases = prepared(problem, seed)
        torch.manual_seed(seed)
        for mutant in mutants_of(problem):
            kinds = said(problem, mutant, cases)
            expected = {mutant.diagnosis.value} if mutant.diagnosis else set()
            for kind in kinds - expected:
                total.false[f"{mutant.name}: {kind}"] += 1
            total.right += kinds == expected
            total.silent += not kinds and bool(expected)
    return total


def report(tallies: dict[str, Tally], seeds: range) -> Iterator[str]:
    yield "# What the judge says of mutants"
    yield ""
    yield f"Every mutant on all cases of its problem, {len(seeds)} seeds. *Right* counts those too of"
    yield "which nothing can be said and nothing is."
    yield ""
    yield "| problem | judged | right | silent | false |"
    yield "| --- | ---: | ---: | ---: | --- |"
    for slug, found in tallies.items():
        wrong = "; ".join(f"{what} ({n}×)" for what, n in found.false.most_common()) or "–"
        judged = len(mutants_of(get_problem(slug))) * len(seeds)
        yield f"| {slug} | {judged} | {found.right / judged:.1%} | {found.silent} | {wrong} |"


def main() -> None:
    """Measure and write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("problems", nargs="*", default=[p.slug for p in all_problems()])
    parser.add_argument("--seeds", type=int, default=50)
    options = parser.parse_args()
    torch.set_num_threads(1)  # the tensors are small
    seeds = range(FIRST_SEED, FIRST_SEED + options.seeds)
    tallies = {}
    for slug in options.problems:
        tallies[slug] = tally(get_problem(slug), seeds)
        print(slug, tallies[slug], flush=True)
    RESULTS.write_text("\n".join([*report(tallies, seeds), ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
