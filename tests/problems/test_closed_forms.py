"""The gradient that submissions are graded against is the gradient of forward."""

from __future__ import annotations

import pytest
import torch

from problems import Problem
from problems.spec import Case, widen
from problems.tools.closed_forms import closed_form_objection
from tests.problems.every import each_case


@each_case
@pytest.mark.parametrize("seed", [0, 1])
def test_closed_form_equals_float64_autograd(problem: Problem, case: Case, seed: int):
    assert closed_form_objection(problem, case, seed) == ""


@each_case
def test_forward_agrees_with_the_saved_tensors_and_the_upstream_gradient(
    problem: Problem, case: Case
):
    inputs = problem.make_forward_inputs(case, 0)
    arguments = problem.make_arguments(case, 0)
    assert problem.forward(**inputs).shape == arguments["grad_output"].shape
    saved = problem.saved(**inputs)
    assert set(saved) == {a.name for a in problem.arguments if a.role == "saved"}
    for name, exact in saved.items():
        assert torch.equal(arguments[name], exact.to(arguments[name].dtype)), name


@each_case
def test_baseline_is_as_accurate_as_its_dtypes_allow(problem: Problem, case: Case):
    arguments = problem.make_arguments(case, 0)
    before = {name: t.clone() for name, t in arguments.items()}
    baseline = problem.baseline(**arguments)
    for spec, got, expected in zip(
        problem.gradients, baseline, problem.reference(arguments), strict=True
    ):
        # Half an ulp of bfloat16 is 2⁻⁹; float32 sums may lose some of their 24 bits.
        rounded = spec.dtype is torch.bfloat16 or problem.chained_products
        allowed = 2**-8 if rounded else 1e-5
        if problem.free_roundings:
            # Terms are rounded that may cancel, not what is left of them.
            allowed *= 4
        assert got.dtype == spec.dtype, spec.name
        assert tuple(got.shape) == problem.gradient_shape(spec, case.dims), spec.name
        assert (widen(got) - expected).norm() <= allowed * expected.norm(), spec.name
    for name, tensor in before.items():
        assert torch.equal(tensor, arguments[name]), f"the baseline changed {name}"
