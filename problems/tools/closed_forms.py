"""Whether the gradient that submissions are graded against is the gradient of forward."""

from __future__ import annotations

import torch

from problems.spec import Case, Gradients, Problem, widen

TOLERANCE = 1e-9  # relative; float64 leaves 1e-16 times the condition of the sums


def autograd_gradients(problem: Problem, case: Case, seed: int) -> tuple[Gradients, Gradients]:
    """Closed form and autograd, both in float64 and with nothing rounded in between."""
    inputs = problem.make_forward_inputs(case, seed)
    upstream = widen(problem.make_arguments(case, seed)["grad_output"])
    leaves = {
        name: t.clone().requires_grad_() if t.is_floating_point() else t
        for name, t in inputs.items()
    }
    output = problem.forward(**leaves)
    expected = torch.autograd.grad(output, [leaves[g.wrt] for g in problem.gradients], upstream)
    everything = {**inputs, **problem.saved(**inputs), "grad_output": upstream}
    got = problem.closed_form(**{a.name: everything[a.name] for a in problem.arguments})
    return got, expected


def closed_form_objection(problem: Problem, case: Case, seed: int) -> str:
    """Empty if the closed form equals float64 autograd; else which gradient is how far off."""
    got, expected = autograd_gradients(problem, case, seed)
    for spec, g, e in zip(problem.gradients, got, expected, strict=True):
        if g.dtype is not torch.float64 or g.shape != e.shape:
            return f"{spec.name} is {g.dtype} of {tuple(g.shape)}, forward's is {tuple(e.shape)}"
        norm, largest = (g - e).norm(), (g - e).abs().max()
        if norm > TOLERANCE * e.norm() or largest > TOLERANCE * e.abs().max():
            return (
                f"{spec.name} differs from autograd by {float(norm / e.norm()):.1e} in {case.name}"
            )
    return ""


def not_finite(problem: Problem, case: Case, seed: int) -> list[str]:
    """In which dtypes something of a case is NaN or infinite: the arguments or a gradient."""
    arguments = problem.make_arguments(case, seed)
    in_float32 = {
        n: t.to(torch.float32) if t.is_floating_point() else t for n, t in arguments.items()
    }
    results = {
        "arguments": tuple(arguments.values()),
        "float64": problem.reference(arguments),
        "float32": problem.closed_form(**in_float32),
        "declared dtypes": problem.baseline(**arguments),
    }
    return [
        name
        for name, tensors in results.items()
        if not all(bool(torch.isfinite(t).all()) for t in tensors)
    ]
