"""What stands in layer norm's tensors: rows far from zero, upstream gradients with a common shift."""

from __future__ import annotations

import torch

from problems import distributions as draw
from problems.distributions import Values
from problems.norms import norm_inputs
from problems.spec import Dims, Tensors

EPS = 1e-5  # part of forward only: backward is handed rstd
FAR_FROM_ZERO = "far_from_zero"  # the mean of each row is many times its standard deviation
SHIFTED_UPSTREAM = "shifted_upstream"  # a constant in every upstream gradient

_MEAN = 24.0  # at which bfloat16 still has eight steps to a standard deviation of 1
_SHIFT = 4.0


def sample(dims: Dims, values: str, generator: torch.Generator) -> Tensors:
    """x, weight, bias and grad_output in float64; the bias is an input of forward alone."""
    own = values in (FAR_FROM_ZERO, SHIFTED_UPSTREAM)
    drawn = norm_inputs(dims, Values.NORMAL if own else values, generator, EPS)
    if values == FAR_FROM_ZERO:
        drawn["x"] = drawn["x"] + _MEAN
    if values == SHIFTED_UPSTREAM:
        drawn["grad_output"] = drawn["grad_output"] + _SHIFT
    return drawn | {"bias": draw.normal((dims["N"],), generator)}
