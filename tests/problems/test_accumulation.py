"""Gradients that are added to a buffer: declared once, known to formulas, arguments and references."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from problems import Problem, all_problems
from problems.accumulation import accumulating
from problems.spec import Case, Role
from problems.tools.closed_forms import autograd_gradients

ACCUMULATING = [p for p in all_problems() if p.buffers]
CASES = [(p, c) for p in ACCUMULATING for c in p.cases if c.accumulate]
each_problem = pytest.mark.parametrize("problem", ACCUMULATING, ids=lambda p: p.slug)
each_case = pytest.mark.parametrize(
    ("problem", "case"), CASES, ids=[f"{p.slug}-{c.name}" for p, c in CASES]
)


def accumulated(problem: Problem) -> list[int]:
    return [i for i, g in enumerate(problem.gradients) if g.accumulates]


@each_problem
def test_buffers_come_last_and_are_what_their_gradients_are(problem: Problem):
    specs = [problem.gradients[i] for i in accumulated(problem)]
    assert problem.argument_names[-len(specs) :] == tuple(f"{g.name}_buffer" for g in specs)
    for spec, buffer in zip(specs, problem.buffers, strict=True):
        assert (buffer.role, buffer.dtype, buffer.shape) == (Role.BUFFER, spec.dtype, spec.shape)
        assert spec.dtype is torch.float32


@each_case
def test_only_a_case_that_accumulates_has_buffers_and_nothing_else_changes(
    problem: Problem, case: Case
):
    given = problem.make_arguments(case, 3)
    ordinary = problem.make_arguments(replace(case, accumulate=False), 3)
    assert set(given) - set(ordinary) == {b.name for b in problem.buffers}
    assert all(torch.equal(given[name], ordinary[name]) for name in ordinary)
    assert all(given[b.name].is_contiguous() and given[b.name].any() for b in problem.buffers)


@each_case
def test_the_reference_is_what_the_buffer_held_and_the_gradient_of_forward(
    problem: Problem, case: Case
):
    given = problem.make_arguments(case, 3)
    alone = problem.reference({a.name: given[a.name] for a in problem.arguments})
    for i, spec in enumerate(problem.gradients):
        held = given[spec.buffer].double() if spec.accumulates else 0
        assert torch.equal(problem.reference(given)[i], alone[i] + held)
    got, expected = autograd_gradients(problem, case, 3)
    torch.testing.assert_close(got, expected, rtol=1e-9, atol=1e-9)


@each_case
def test_what_a_buffer_holds_and_what_is_added_are_of_like_size(problem: Problem, case: Case):
    """Else what is done with the one would not show beside the other."""
    given = problem.make_arguments(case, 3)
    for i in accumulated(problem):
        held = given[problem.gradients[i].buffer].double()
        ratio = float(held.norm() / (problem.reference(given)[i] - held).norm())
        assert 0.2 < ratio < 5


@each_case
def test_a_call_hands_over_copies_of_buffers_and_none_where_there_are_none(
    problem: Problem, case: Case
):
    seen = []

    def backward(*given: torch.Tensor | None) -> tuple[torch.Tensor, ...]:
        seen.append(given[-1])
        return tuple(torch.zeros(()) if g is None else g.zero_() for g in given[-1:])

    given = problem.make_arguments(case, 3)
    held = given[problem.buffers[-1].name].clone()
    problem.call(backward, given)
    assert torch.equal(given[problem.buffers[-1].name], held)
    problem.call(backward, {a.name: given[a.name] for a in problem.arguments})
    assert seen[0] is not None
    assert seen[1] is None


@each_case
def test_formulas_take_arguments_by_position_as_a_submission_does(problem: Problem, case: Case):
    given = problem.make_arguments(case, 3)
    by_position = problem.call(problem.baseline, given)
    for one, other in zip(by_position, problem.baseline(**given), strict=True):
        assert torch.equal(one, other)


def test_a_formula_without_accumulating_gradients_is_left_as_it_is():
    problem = next(p for p in all_problems() if not p.buffers)
    assert (
        accumulating(problem.closed_form, problem.gradients, problem.argument_names)
        is problem.closed_form
    )
