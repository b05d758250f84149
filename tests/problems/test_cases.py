"""The cases of every problem ask what they should, and are what they say."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from problems import Problem
from problems.distributions import Values
from problems.layouts import Layout
from problems.spec import Case, Role, TensorSpec, dimensions_of, lengths
from problems.tools.closed_forms import not_finite
from tests.problems.every import PAIRS, each_case, each_problem

WITH_LAYOUTS = [(p, c, n) for p, c in PAIRS for n in c.layouts]


def upstream_of(problem: Problem) -> TensorSpec:
    return next(a for a in problem.arguments if a.role == "grad_output")


def upstreams(problem: Problem) -> list[torch.Tensor]:
    return [problem.make_arguments(case, 0)["grad_output"] for case in problem.cases]


@each_problem
def test_names_are_unique_and_every_case_says_why(problem: Problem):
    names = [c.name for c in problem.cases]
    assert len(set(names)) == len(names)
    for case in problem.cases:
        assert case.why.endswith("."), case.name
        assert len(case.why) > 20, case.name


@each_problem
def test_public_cases_are_listed_first_and_both_kinds_exist(problem: Problem):
    public = [c.public for c in problem.cases]
    assert public.count(True) >= 5
    assert public.count(False) >= 5
    assert public == sorted(public, reverse=True)


@each_problem
def test_no_size_is_below_what_the_statement_promises(problem: Problem):
    assert "Every size is at least 1" in problem.text["statement"]
    assert all(size >= 1 for case in problem.cases for size in case.dims.values())
    assert all(1 in {c.dims[name] for c in problem.cases} for name in problem.cases[0].dims)


@each_problem
def test_no_two_cases_are_the_same_question(problem: Problem):
    asked = [
        (tuple(c.dims.items()), c.values, tuple(sorted(c.layouts.items())), c.accumulate)
        for c in problem.cases
    ]
    assert len(set(asked)) == len(asked)


@each_problem
def test_public_cases_hold_sizes_of_one_odd_sizes_and_powers_of_two(problem: Problem):
    sizes = [tuple(c.dims.values()) for c in problem.cases if c.public]
    assert any(all(n == 1 for n in s) for s in sizes)
    assert any(all(n % 2 == 1 and n > 1 for n in s) for s in sizes)
    assert any(all(n & (n - 1) == 0 and n > 1 for n in s) for s in sizes)


@each_problem
def test_a_sum_across_one_block_only_fails_a_public_case(problem: Problem):
    for gradient in problem.gradients:
        # An axis of its own is cut into blocks; one that is a factor of another is not.
        summed = set(upstream_of(problem).shape) - set(gradient.shape)
        summed -= {entry for entry in summed if dimensions_of(entry) != (entry,)}
        for dim in summed:
            assert any(c.dims[dim] > 128 for c in problem.cases if c.public), gradient.name


@each_problem
def test_a_public_case_has_strides_that_are_not_contiguous(problem: Problem):
    assert any(c.layouts for c in problem.cases if c.public)


@each_problem
def test_upstream_gradients_come_expanded_transposed_and_sliced(problem: Problem):
    possible = set(Layout) - {Layout.CONTIGUOUS} if upstream_of(problem).shape else set()
    assert possible <= {c.layouts.get("grad_output") for c in problem.cases}


@each_problem
def test_every_matrix_comes_non_contiguous(problem: Problem):
    matrices = {a.name for a in problem.arguments if len(a.shape) >= 2}
    assert matrices <= {name for c in problem.cases for name in c.layouts}


@each_problem
def test_upstream_gradients_come_zero_large_and_tiny(problem: Problem):
    sizes = [float(u.abs().max()) for u in upstreams(problem)]
    assert 0.0 in sizes
    assert any(s > 1e3 for s in sizes)
    assert any(0 < s < 1e-6 for s in sizes)


@each_problem
def test_an_upstream_matrix_comes_with_a_single_element(problem: Problem):
    single = any(u.numel() > 1 and int((u != 0).sum()) == 1 for u in upstreams(problem))
    assert single == bool(upstream_of(problem).shape)


@each_problem
def test_a_public_case_adds_to_buffers_and_a_hidden_one_too_if_there_are_any(problem: Problem):
    accumulating = {c.public for c in problem.cases if c.accumulate}
    assert accumulating == ({True, False} if problem.buffers else set())


@each_case
def test_the_upstream_gradient_and_parameters_are_never_all_ones(problem: Problem, case: Case):
    given = problem.make_arguments(case, 0)
    for name in (a.name for a in problem.arguments if a.role is not Role.SAVED):
        if given[name].is_floating_point():
            assert not bool((given[name] == 1).all()), name


@each_case
def test_arguments_are_what_their_specs_say(problem: Problem, case: Case):
    arguments = problem.make_arguments(case, 0)
    specs = [*problem.arguments, *(problem.buffers if case.accumulate else ())]
    assert list(arguments) == [a.name for a in specs]
    for spec in specs:
        tensor = arguments[spec.name]
        assert tensor.dtype is spec.dtype, spec.name
        assert tuple(tensor.shape) == lengths(spec.shape, case.dims), spec.name


@each_case
def test_everything_is_finite_in_every_dtype(problem: Problem, case: Case):
    assert not_finite(problem, case, 0) == []


@each_case
def test_references_have_the_shapes_of_their_specs(problem: Problem, case: Case):
    references = problem.reference(problem.make_arguments(case, 0))
    for spec, reference in zip(problem.gradients, references, strict=True):
        assert tuple(reference.shape) == problem.gradient_shape(spec, case.dims), spec.name


@each_case
def test_a_seed_reproduces_its_tensors_and_another_does_not(problem: Problem, case: Case):
    first, again, other = (problem.make_arguments(case, seed) for seed in (7, 7, 8))
    for name, tensor in first.items():
        assert torch.equal(tensor, again[name]), name
        assert tensor.stride() == again[name].stride(), name
    assert any(not torch.equal(tensor, other[name]) for name, tensor in first.items())


@pytest.mark.parametrize(
    ("problem", "case", "name"),
    WITH_LAYOUTS,
    ids=[f"{p.slug}-{c.name}-{n}" for p, c, n in WITH_LAYOUTS],
)
def test_a_layout_has_its_strides_and_keeps_the_values(problem: Problem, case: Case, name: str):
    tensor = problem.make_arguments(case, 3)[name]
    plain = problem.make_arguments(replace(case, layouts={}), 3)[name]
    assert min(tensor.shape) > 1, "strides mean nothing where there is one element"
    match case.layouts[name]:
        case Layout.EXPANDED:
            assert tensor.stride(0) == 0
            plain = plain[:1].expand_as(plain)
        case Layout.TRANSPOSED:
            assert tensor.mT.is_contiguous()
        case Layout.SLICED:
            assert tensor.stride(-1) == 1
            assert tensor.stride(-2) > tensor.shape[-1]
        case Layout.CONTIGUOUS:
            pytest.fail("a case need not say that an argument is contiguous")
    assert not tensor.is_contiguous()
    assert torch.equal(tensor, plain)


@each_problem
def test_arguments_without_a_layout_are_contiguous(problem: Problem):
    for case in problem.cases:
        for name, tensor in problem.make_arguments(case, 0).items():
            assert name in case.layouts or tensor.is_contiguous(), (case.name, name)


@each_problem
def test_normal_values_exist_and_unknown_ones_are_refused(problem: Problem):
    case = problem.cases[-1]
    problem.make_arguments(replace(case, values=Values.NORMAL, layouts={}), 0)
    with pytest.raises(ValueError, match="no_such_values"):
        problem.make_arguments(replace(case, values="no_such_values", layouts={}), 0)


@each_problem
def test_integers_are_drawn_alone_as_the_sample_draws_them(problem: Problem):
    wanted = {a.name: a for a in problem.arguments if not a.dtype.is_floating_point}
    case = next(c for c in problem.cases if c.values == "normal" and not c.layouts)
    alone, among = problem.make_integers(case.dims, 3), problem.make_arguments(case, 3)
    assert alone.keys() == wanted.keys()
    for name, spec in wanted.items():
        assert (alone[name].dtype, alone[name].shape) == (spec.dtype, among[name].shape)
    shape = problem.benchmarks["gpu"][0].dims
    again = problem.make_integers(shape, 3)
    assert {n: tuple(t.shape) for n, t in again.items()} == {
        n: lengths(a.shape, shape) for n, a in wanted.items()
    }
