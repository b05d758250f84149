"""Squared ReLU's backward with a part of the derivation missing, to be recognised in submissions."""

from __future__ import annotations

import torch

from problems.spec import Gradients, Mistake


def _without_relu(grad_output: torch.Tensor, x: torch.Tensor) -> Gradients:
    return (2 * grad_output * x,)


def _relu_alone(grad_output: torch.Tensor, x: torch.Tensor) -> Gradients:
    return (grad_output * (x > 0),)


def _step_doubled(grad_output: torch.Tensor, x: torch.Tensor) -> Gradients:
    return (2 * grad_output * (x > 0),)


def _absolute(grad_output: torch.Tensor, x: torch.Tensor) -> Gradients:
    return (2 * grad_output * x.abs(),)


MISTAKES = (
    Mistake("takes |x| for max(x, 0)", _absolute),
    Mistake("is not cut to zero where x is negative", _without_relu),
    Mistake("is the gradient of relu(x), not of its square", _relu_alone),
    Mistake("lacks the factor relu(x)", _step_doubled),
)
