"""On 50 seeds every mutant is refused and every honest backward accepted, with one tolerance for all.

`benchmarks/tolerance.py` measures by how much, on every case. Here a seed of a mutant ends when all
that is wrong was refused, and a seed of an honest backward judges some of the cases, all in turn.
"""

from __future__ import annotations

from functools import lru_cache

import pytest
import torch

from benchmarks.honest import honest
from problems import all_problems, get_problem
from problems.mutants import mutants_of
from problems.spec import Case, Tensors
from runner.compare import Expectation, compare, expect

SEEDS = range(50)
CASES_PER_SEED = 2
PROBLEMS = all_problems()
MUTANTS = [
    pytest.param(problem, mutant, id=f"{problem.slug}-{mutant.name}")
    for problem in PROBLEMS
    for mutant in mutants_of(problem)
]
HONEST = [
    pytest.param(problem, backward, id=f"{problem.slug}-{name}")
    for problem in PROBLEMS
    for name, backward in honest(problem).items()
]


@pytest.fixture(autouse=True)
def one_thread_and_one_stream_of_chance():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the tensors are small
    torch.manual_seed(0)
    yield
    torch.set_num_threads(threads)


@lru_cache(maxsize=400)
def call(slug: str, case_name: str, seed: int) -> tuple[Tensors, Expectation]:
    problem = get_problem(slug)
    (case,) = (c for c in problem.cases if c.name == case_name)
    arguments = problem.make_arguments(case, seed)
    return arguments, expect(problem, arguments)


def wrong_gradients(problem, backward, case: Case, seed: int) -> set[str]:
    arguments, expectation = call(problem.slug, case.name, seed)
    reports = compare(problem, backward(**arguments), expectation)
    return {r.name for r in reports if not r.passed}


@pytest.mark.parametrize(("problem", "mutant"), MUTANTS)
def test_a_mutant_is_refused_on_every_seed_for_its_mistake_alone(problem, mutant):
    order = sorted(problem.cases, key=lambda c: problem.output_bytes(c.dims))
    for seed in SEEDS:
        caught: set[str] = set()
        for case in list(order):
            wrong = wrong_gradients(problem, mutant.backward, case, seed)
            assert wrong <= set(mutant.gradients), f"{case.name}, seed {seed}"
            if wrong - caught:
                order.remove(case)
                order.insert(0, case)  # the next seed begins with what showed something
            caught |= wrong
            if caught == set(mutant.gradients):
                break
        assert caught == set(mutant.gradients), f"passes on seed {seed}"


@pytest.mark.parametrize(("problem", "backward"), HONEST)
def test_an_honest_backward_is_accepted_on_every_seed(problem, backward):
    for seed in SEEDS:
        for turn in range(CASES_PER_SEED):
            case = problem.cases[(CASES_PER_SEED * seed + turn) % len(problem.cases)]
            assert not wrong_gradients(problem, backward, case, seed), f"{case.name}, seed {seed}"
