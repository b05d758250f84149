"""What normalisations share: the inputs that are hard for any of them, and the cases that use these."""

from __future__ import annotations

import torch

from problems import distributions as draw
from problems.distributions import Values
from problems.spec import Case, Dims, Tensors

ALIGNED_UPSTREAM = "aligned_upstream"  # the upstream gradient follows x
NEAR_EPS = "near_eps"  # x around sqrt(eps), so that its mean square and eps weigh the same


def norm_inputs(dims: Dims, values: str, generator: torch.Generator, eps: float) -> Tensors:
    """x (M, N), weight (N,) and grad_output (M, N) in float64; `values` is one of these or common."""
    shape = (dims["M"], dims["N"])
    common = Values.NORMAL if values in (ALIGNED_UPSTREAM, NEAR_EPS) else values
    x = draw.activation(shape, common, generator)
    weight = draw.weight((dims["N"],), generator)
    grad_output = draw.upstream(shape, common, generator)
    if values == NEAR_EPS:
        x = x * eps**0.5
    if values == ALIGNED_UPSTREAM:
        grad_output = x + 0.25 * grad_output
    return {"x": x, "weight": weight, "grad_output": grad_output}


NORM_CASES = (
    Case(
        "aligned_upstream",
        {"M": 14, "N": 200},
        "The upstream gradient follows x, so the term through rstd is as large as the direct one.",
        values=ALIGNED_UPSTREAM,
        public=False,
    ),
    Case(
        "near_eps",
        {"M": 9, "N": 72},
        "The mean square of each row is about ε, so rstd is not the reciprocal norm of the row.",
        values=NEAR_EPS,
        public=False,
    ),
)
