"""On 50 seeds every mutant is refused and every honest backward accepted, with one tolerance for all.

`benchmarks/tolerance.py` measures by how much, on every case.
"""

from __future__ import annotations

import pytest
import torch

from benchmarks.honest import honest
from problems import all_problems
from problems.mutants import mutants_of
from problems.tools.refusal import honest_objection, mutant_objection

SEEDS = range(50)
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


@pytest.mark.parametrize(("problem", "mutant"), MUTANTS)
def test_a_mutant_is_refused_on_every_seed_for_its_mistake_alone(problem, mutant):
    assert mutant_objection(problem, mutant, SEEDS) == ""


@pytest.mark.parametrize(("problem", "backward"), HONEST)
def test_an_honest_backward_is_accepted_on_every_seed(problem, backward):
    assert honest_objection(problem, backward, SEEDS) == ""
