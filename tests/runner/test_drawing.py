"""Hidden cases are new for every submission, and stay what they are about."""

import pytest
import torch

from problems import all_problems
from runner.drawing import drawn, largest, seed

CASES = [pytest.param(p, c, id=f"{p.slug}-{c.name}") for p in all_problems() for c in p.cases]


@pytest.mark.parametrize(("problem", "case"), CASES)
def test_drawn_cases_are_at_least_as_large_and_at_most_the_largest(problem, case):
    for _ in range(20):
        dims = drawn(case).dims
        for name, size in case.dims.items():
            assert size <= dims[name] <= largest(case.dims)[name]
            assert dims[name] == size or size >= 8


@pytest.mark.parametrize(("problem", "case"), CASES)
def test_a_drawn_case_has_a_finite_reference(problem, case):
    other = drawn(case)
    arguments = problem.make_arguments(other, seed(problem, other))
    for gradient in problem.reference(arguments):
        assert bool(torch.isfinite(gradient).all())


@pytest.mark.parametrize("problem", all_problems(), ids=lambda p: p.slug)
def test_sizes_and_seeds_of_hidden_cases_differ_from_draw_to_draw(problem):
    case = max((c for c in problem.cases if not c.public), key=lambda c: max(c.dims.values()))
    assert len({tuple(drawn(case).dims.values()) for _ in range(30)}) > 1
    assert len({seed(problem, case) for _ in range(10)}) == 10


@pytest.mark.parametrize("problem", all_problems(), ids=lambda p: p.slug)
def test_public_seeds_are_constant_and_each_case_has_its_own(problem):
    public = [c for c in problem.cases if c.public]
    seeds = [seed(problem, c) for c in public]
    assert seeds == [seed(problem, c) for c in public]
    assert len(set(seeds)) == len(public)
