"""Every problem has mutants of many kinds, each wrong in its mathematics and right in its form."""

from __future__ import annotations

from collections import Counter

import pytest
import torch

from problems import all_problems
from problems.mutants import Diagnosis, lose_updates, mutants_of, read_linearly
from problems.mutants import stored_with_wrapping_offsets as wrapping

SEED = 7
PROBLEMS = all_problems()
MANY_WAYS = {"softmax_cross_entropy", "linear_cross_entropy", "flash_attention"}
MUTANTS = [
    pytest.param(problem, mutant, id=f"{problem.slug}-{mutant.name}")
    for problem in PROBLEMS
    for mutant in mutants_of(problem)
]
each_problem = pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.slug)
each_mutant = pytest.mark.parametrize(("problem", "mutant"), MUTANTS)


@each_problem
def test_there_are_enough_mutants_of_many_kinds(problem):
    mutants = mutants_of(problem)
    least = 10 if problem.slug in MANY_WAYS else 6
    assert len(mutants) >= least
    assert len({m.diagnosis for m in mutants}) >= 6
    assert {g for m in mutants for g in m.gradients} == {g.name for g in problem.gradients}


@each_problem
def test_names_differ_and_each_mistake_is_told_in_one_sentence(problem):
    mutants = mutants_of(problem)
    assert max(Counter(m.name for m in mutants).values()) == 1
    for mutant in mutants:
        assert mutant.what.endswith(".")
        assert ". " not in mutant.what


@each_mutant
def test_a_mutant_says_which_gradients_are_wrong_and_which_term_is_missing(problem, mutant):
    assert mutant.gradients
    assert set(mutant.gradients) <= {g.name for g in problem.gradients}
    assert bool(mutant.term) == (mutant.diagnosis is Diagnosis.MISSING_TERM)


@each_mutant
def test_a_mutant_returns_what_is_declared_and_leaves_its_arguments_alone(problem, mutant):
    torch.manual_seed(SEED)
    for case in problem.cases[:: max(1, len(problem.cases) // 6)]:
        arguments = problem.make_arguments(case, SEED)
        before = {name: t.clone() for name, t in arguments.items()}
        returned = mutant.backward(**arguments)
        for gradient, spec in zip(returned, problem.gradients, strict=True):
            assert gradient.dtype is spec.dtype
            assert tuple(gradient.shape) == problem.gradient_shape(spec, case.dims)
        for name, tensor in arguments.items():
            torch.testing.assert_close(tensor, before[name], rtol=0, atol=0, equal_nan=True)


def test_memory_read_in_order_is_right_for_contiguous_tensors_only():
    matrix = torch.arange(6.0).reshape(2, 3)
    assert torch.equal(read_linearly(matrix), matrix)
    assert torch.equal(
        read_linearly(matrix.t()), torch.tensor([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
    )
    assert torch.equal(
        read_linearly(matrix[:1].expand(3, 3)),
        torch.tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0], [0.0, 0.0, 0.0]]),
    )
    assert torch.equal(read_linearly(matrix[:, 1:]), torch.tensor([[1.0, 2.0], [3.0, 4.0]]))


def test_offsets_that_wrap_spoil_large_gradients_only():
    small, large = torch.rand(64, 64), torch.rand(100, 100)
    assert torch.equal(wrapping(small), small)
    stored = wrapping(large).reshape(-1)
    late = 100 * 100 - 8192
    assert torch.equal(stored[:late], large.reshape(-1)[8192:])
    assert torch.equal(stored[late:8192], large.reshape(-1)[late:8192])
    assert not stored[8192:].any()


@pytest.mark.parametrize("shape", [(1,), (1, 1), (40, 30)])
def test_a_race_loses_at_least_one_update(shape):
    assert int((lose_updates(torch.ones(shape)) == 0).sum()) >= 1
