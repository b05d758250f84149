"""Layer norm's backward with a part of the derivation missing, to be recognised in submissions."""

from __future__ import annotations

from collections.abc import Callable

import torch

from problems.spec import Gradients, Mistake

T = torch.Tensor


def _mean(rows: T) -> T:
    return rows.mean(dim=1, keepdim=True)


def _dx(formula: Callable[[T, T, T], T]) -> Callable[..., Gradients]:
    """The closed form, but dx = formula(g, x_hat, rstd)."""

    def gradients(grad_output: T, x: T, weight: T, mean: T, rstd: T) -> Gradients:
        r = rstd[:, None]
        x_hat = (x - mean[:, None]) * r
        dx = formula(grad_output * weight, x_hat, r)
        return dx, (grad_output * x_hat).sum(dim=0), grad_output.sum(dim=0)

    return gradients


def _without_weight(grad_output: T, x: T, weight: T, mean: T, rstd: T) -> Gradients:
    return _dx(_right)(grad_output, x, torch.ones_like(weight), mean, rstd)


def _weight_outside_only(grad_output: T, x: T, weight: T, mean: T, rstd: T) -> Gradients:
    r = rstd[:, None]
    x_hat = (x - mean[:, None]) * r
    subtracted = _mean(grad_output) + x_hat * _mean(grad_output * x_hat)
    dx = r * (grad_output * weight - subtracted)
    return dx, (grad_output * x_hat).sum(dim=0), grad_output.sum(dim=0)


def _without_centring(grad_output: T, x: T, weight: T, mean: T, rstd: T) -> Gradients:
    return _dx(_right)(grad_output, x, weight, torch.zeros_like(mean), rstd)


def _sums_without_rstd(grad_output: T, x: T, weight: T, mean: T, rstd: T) -> Gradients:
    centred = x - mean[:, None]
    dx = _dx(lambda g, x_hat, r: g - _mean(g) - x_hat * _mean(g * x_hat))
    given = (grad_output, x, weight, mean, rstd)
    return dx(*given)[0], (grad_output * centred).sum(dim=0), grad_output.sum(dim=0)


def _weight_in_the_sums(grad_output: T, x: T, weight: T, mean: T, rstd: T) -> Gradients:
    dx, dweight, dbias = _dx(_right)(grad_output, x, weight, mean, rstd)
    return dx, dweight * weight, dbias * weight


def _right(g: T, x_hat: T, r: T) -> T:
    return r * (g - _mean(g) - x_hat * _mean(g * x_hat))


def _sums_for_means(g: T, x_hat: T, r: T) -> T:
    return r * (g - g.sum(dim=1, keepdim=True) - x_hat * (g * x_hat).sum(dim=1, keepdim=True))


def _padded_means(g: T, x_hat: T, r: T) -> T:
    share = g.shape[1] / (1 << (g.shape[1] - 1).bit_length())
    return r * (g - share * _mean(g) - x_hat * share * _mean(g * x_hat))


MISTAKES = (
    Mistake(
        "lacks both means over the row, as if mean and rstd were constants",
        _dx(lambda g, x_hat, r: r * g),
    ),
    Mistake(
        "lacks the term through the mean: − mean(g)",
        _dx(lambda g, x_hat, r: r * (g - x_hat * _mean(g * x_hat))),
    ),
    Mistake(
        "lacks the term through rstd: − x̂ · mean(g · x̂)",
        _dx(lambda g, x_hat, r: r * (g - _mean(g))),
    ),
    Mistake("lacks the weight", _without_weight),
    Mistake("lacks the weight inside the row's means", _weight_outside_only),
    Mistake("uses x · rstd for x̂: the mean is not subtracted", _without_centring),
    Mistake("is not multiplied by rstd", _sums_without_rstd),
    Mistake("is multiplied by rstd twice", _dx(lambda g, x_hat, r: r * _right(g, x_hat, r))),
    Mistake("is multiplied by the weight, which does not belong there", _weight_in_the_sums),
    Mistake(
        "sums over the row where it should take the mean: is 1/N missing?", _dx(_sums_for_means)
    ),
    Mistake("divides the row's sums by the block's padded width instead of N", _dx(_padded_means)),
)
