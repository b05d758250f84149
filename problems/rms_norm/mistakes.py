"""RMSNorm's backward with a part of the derivation missing, to be recognised in submissions."""

from __future__ import annotations

import torch

from problems.spec import Gradients, Mistake


def _without_rstd_term(
    grad_output: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, rstd: torch.Tensor
) -> Gradients:
    x_hat = x * rstd[:, None]
    return grad_output * weight * rstd[:, None], (grad_output * x_hat).sum(dim=0)


def _weight_outside_only(
    grad_output: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, rstd: torch.Tensor
) -> Gradients:
    x_hat = x * rstd[:, None]
    row = (grad_output * x_hat).mean(dim=1, keepdim=True)
    dweight = (grad_output * x_hat).sum(dim=0)
    return rstd[:, None] * (grad_output * weight - x_hat * row), dweight


def _without_outer_rstd(
    grad_output: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, rstd: torch.Tensor
) -> Gradients:
    x_hat = x * rstd[:, None]
    g = grad_output * weight
    return g - x_hat * (g * x_hat).mean(dim=1, keepdim=True), (grad_output * x).sum(dim=0)


def _x_in_the_mean(
    grad_output: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, rstd: torch.Tensor
) -> Gradients:
    x_hat = x * rstd[:, None]
    g = grad_output * weight
    row = (g * x).mean(dim=1, keepdim=True)
    return rstd[:, None] * (g - x_hat * row), (grad_output * x_hat).sum(dim=0)


def _without_weight(
    grad_output: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, rstd: torch.Tensor
) -> Gradients:
    x_hat = x * rstd[:, None]
    row = (grad_output * x_hat).mean(dim=1, keepdim=True)
    return rstd[:, None] * (grad_output - x_hat * row), (grad_output * x_hat).sum(dim=0)


def _weight_twice(
    grad_output: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, rstd: torch.Tensor
) -> Gradients:
    dx, dweight = _sum_for_mean(grad_output, x, weight, rstd)
    return dx, dweight * weight


def _without_normalisation(
    grad_output: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, rstd: torch.Tensor
) -> Gradients:
    g = grad_output * weight
    dx = rstd[:, None] * (g - x * (g * x).mean(dim=1, keepdim=True))
    return dx, (grad_output * x).sum(dim=0)


def _sum_for_mean(
    grad_output: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, rstd: torch.Tensor
) -> Gradients:
    x_hat = x * rstd[:, None]
    g = grad_output * weight
    dx = rstd[:, None] * (g - x_hat * (g * x_hat).sum(dim=1, keepdim=True))
    return dx, (grad_output * x_hat).sum(dim=0)


def _padded_mean(
    grad_output: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, rstd: torch.Tensor
) -> Gradients:
    x_hat = x * rstd[:, None]
    g = grad_output * weight
    width = 1 << (x.shape[1] - 1).bit_length()
    row = (g * x_hat).sum(dim=1, keepdim=True) / width
    return rstd[:, None] * (g - x_hat * row), (grad_output * x_hat).sum(dim=0)


MISTAKES = (
    Mistake("lacks the term through rstd: − x̂ · mean(g · x̂)", _without_rstd_term),
    Mistake("lacks the weight", _without_weight),
    Mistake("lacks the weight inside the row's mean", _weight_outside_only),
    Mistake("is not multiplied by rstd", _without_outer_rstd),
    Mistake("takes the mean of g · x where g · x̂ belongs", _x_in_the_mean),
    Mistake("is multiplied by the weight, which does not belong there", _weight_twice),
    Mistake("uses x where x̂ = x · rstd belongs", _without_normalisation),
    Mistake("sums over the row where it should take the mean: is 1/N missing?", _sum_for_mean),
    Mistake("divides the row's sum by the block's padded width instead of N", _padded_mean),
)
