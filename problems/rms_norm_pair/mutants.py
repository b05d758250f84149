"""RMSNorm's pair: what is saved is rounded, stale, incomplete or something else; and more.

Forward and backward as one function: what goes wrong between the two shows in the gradients.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from problems.mutants import Diagnosis, Mutant, Spoiler, read_linearly
from problems.rms_norm.mutants import MUTANTS as GIVEN_RSTD
from problems.rms_norm.problem import EPS, row_statistic
from problems.rms_norm.problem import PROBLEM as WITH_RSTD
from problems.rms_norm_pair.problem import PROBLEM
from problems.spec import Gradients

T = torch.Tensor

_make = Spoiler(PROBLEM)
# Of the backward that is given rstd, those whose mistake is in neither half's choice of what to save.
_BORROWED = (
    "second_term_missing",
    "mean_is_a_sum",
    "outer_rstd_missing",
    "mean_in_bfloat16",
    "dweight_over_one_block",
    "dweight_without_rstd",
)


def _borrowed(mutant: Mutant) -> Mutant:
    def backward(grad_output: T, x: T, weight: T) -> Gradients:
        rstd = row_statistic(x.float())
        return mutant.backward(grad_output=grad_output, x=x, weight=weight, rstd=rstd)

    return Mutant(
        mutant.name, mutant.what, backward, mutant.gradients, mutant.diagnosis, mutant.term
    )


def _from(grad_output: T, x_hat: T, r: T, weight: T) -> Gradients:
    """dx and dweight from x̂ (M, N) and rstd (M, 1), whatever they are, in float32."""
    dy = grad_output.float()
    g = dy * weight.float()
    dx = r * (g - x_hat * (g * x_hat).mean(1, keepdim=True))
    return dx.bfloat16(), (dy * x_hat).sum(0)


def _rstd_in_bfloat16(grad_output: T, x: T, weight: T) -> Gradients:
    rstd = row_statistic(x.float()).bfloat16().float()
    return WITH_RSTD.baseline(grad_output, x, weight, rstd)


def _y_for_x(grad_output: T, x: T, weight: T) -> Gradients:
    """x̂ = y / w, with zero where the weight is."""
    w = weight.float()
    y, (_, rstd) = PROBLEM.pair.forward(x, weight)  # type: ignore[union-attr]  # it is a pair
    x_hat = torch.where(w == 0, 0.0, y.float() / w)
    return _from(grad_output, x_hat, rstd[:, None], weight)


def _x_hat_in_bfloat16(grad_output: T, x: T, weight: T) -> Gradients:
    r = row_statistic(x.float())[:, None]
    return _from(grad_output, (x.float() * r).bfloat16().float(), r, weight)


def _x_in_eight_bits(x: T) -> T:
    size = x.float().abs().amax().clamp(min=torch.finfo(torch.float32).tiny)
    scale = 448.0 / size
    return ((x.float() * scale).to(torch.float8_e4m3fn).float() / scale).to(x.dtype)


def _of_another_batch(x: T) -> T:
    """What a global variable holds when the forward of the next micro-batch ran in between."""
    other = torch.randn(x.shape, generator=torch.Generator().manual_seed(x.numel()))
    return (other * (1 + x.float().abs().mean())).to(x.dtype)


def _rstd_without_eps(grad_output: T, x: T, weight: T) -> Gradients:
    square = x.float().square().mean(dim=1).clamp(min=torch.finfo(torch.float32).tiny)
    return WITH_RSTD.baseline(grad_output, x, weight, torch.rsqrt(square))


def _statistic_in_bfloat16(grad_output: T, x: T, weight: T) -> Gradients:
    """rstd anew, from squares and their mean in bfloat16."""
    rstd = torch.rsqrt(x.square().mean(dim=1).float() + EPS)
    return WITH_RSTD.baseline(grad_output, x, weight, rstd)


def _both(
    name: str, what: str, backward: Callable[..., Gradients], diagnosis: Diagnosis | None = None
) -> Mutant:
    return Mutant(name, what, backward, _make.names, diagnosis)


_OF_WHAT_IS_SAVED = (
    _both("rstd_saved_in_bfloat16", "Saves rstd in bfloat16, 8 bits.", _rstd_in_bfloat16),
    _both("y_saved_for_x", "Saves y in place of x and divides by the weight.", _y_for_x),
    _both(
        "x_hat_saved_in_bfloat16",
        "Saves x̂ rounded to bfloat16 in place of x.",
        _x_hat_in_bfloat16,
        Diagnosis.LOW_PRECISION,
    ),
    _make.argument(
        "x", "x_saved_in_eight_bits", "Saves x in float8.", _x_in_eight_bits, _make.names
    ),
    _make.argument(
        "x",
        "stale_through_a_global",
        "Reads x from a global variable, where the next micro-batch's lies by then.",
        _of_another_batch,
        _make.names,
    ),
    _make.argument(
        "x",
        "saved_in_the_order_of_memory",
        "Saves the memory of x in order, whatever its strides are.",
        read_linearly,
        _make.names,
        Diagnosis.STRIDES,
    ),
    _both(
        "eps_forgotten_in_backward",
        "Computes rstd anew in backward and forgets ε.",
        _rstd_without_eps,
    ),
    _both(
        "statistic_anew_in_bfloat16",
        "Computes rstd anew from squares in bfloat16.",
        _statistic_in_bfloat16,
    ),
    _make.results(
        "dweight_missing",
        "The weight's gradient is left at zero.",
        torch.zeros_like,
        ["dweight"],
        Diagnosis.ALL_ZERO,
    ),
)

MUTANTS = (
    *_make.common(),
    *_make.upstream(),
    *_OF_WHAT_IS_SAVED,
    *(_borrowed(m) for m in GIVEN_RSTD if m.name in _BORROWED),
)
