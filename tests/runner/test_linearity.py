"""Linearity in the upstream gradient: honest solutions have it, clipping and thresholds lack it."""

import pytest
import torch

from problems import all_problems, get_problem
from runner import linearity

PROBLEMS = all_problems()


def reports(problem, call, seed=0):
    case = linearity.suitable(problem.cases)
    return linearity.check(problem, call, linearity.upstreams(problem, case, seed))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.slug)
def test_the_plain_backward_is_linear_with_room_to_spare(problem, seed):
    for report in reports(problem, lambda a: problem.baseline(**a), seed):
        assert report.passed
        assert all(m.severity < 0.9 for m in report.measures)


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.slug)
def test_the_sum_of_the_upstream_gradients_is_exact(problem):
    case = linearity.suitable(problem.cases)
    made = linearity.upstreams(problem, case, 3)
    g, h, both = (t["grad_output"].double() for t in (made.one, made.other, made.both))
    assert torch.equal(g + h, both)


BENT = {
    "clipped": lambda g: g.clamp(-1e-3, 1e-3),
    "small values dropped": lambda g: torch.where(g.abs() < 0.3 * g.abs().amax(), 0, g),
    "an offset": lambda g: g.abs(),
}


@pytest.mark.parametrize("kind", BENT)
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.slug)
def test_what_is_not_linear_is_seen(problem, kind):
    found = reports(problem, lambda a: tuple(BENT[kind](g) for g in problem.baseline(**a)))
    assert not all(r.passed for r in found)


def test_a_remembered_gradient_is_seen():
    problem = get_problem("swiglu")
    memory = []

    def call(arguments):
        memory.append(problem.baseline(**arguments))
        return memory[0]

    assert not all(r.passed for r in reports(problem, call))
