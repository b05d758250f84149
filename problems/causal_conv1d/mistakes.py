"""The convolution's backward with a part of the derivation wrong, to be recognised in submissions."""

from __future__ import annotations

from collections.abc import Callable

import torch

from problems.causal_conv1d.formulas import convolved, dweight_of, dx_of, past, silu_derivative
from problems.spec import Gradients, Mistake

T = torch.Tensor
# Steps that a kernel may work on at a time, as if there were no others.
BLOCKS = tuple(2**i for i in range(2, 11))


def _from(g: T, x: T, weight: T) -> Gradients:
    return dx_of(g, weight), dweight_of(g, x, weight.shape[1]), g.sum((0, 1))


def _right_g(grad_output: T, x: T, weight: T, bias: T) -> T:
    return grad_output * silu_derivative(convolved(x, weight, bias))


def without_silu(grad_output: T, x: T, weight: T, bias: T) -> Gradients:
    return _from(grad_output, x, weight)


def sigmoid_for_derivative(grad_output: T, x: T, weight: T, bias: T) -> Gradients:
    return _from(grad_output * torch.sigmoid(convolved(x, weight, bias)), x, weight)


def silu_for_derivative(grad_output: T, x: T, weight: T, bias: T) -> Gradients:
    u = convolved(x, weight, bias)
    return _from(grad_output * u * torch.sigmoid(u), x, weight)


def without_bias(grad_output: T, x: T, weight: T, bias: T) -> Gradients:
    return _from(_right_g(grad_output, x, weight, torch.zeros_like(bias)), x, weight)


def causal_dx(grad_output: T, x: T, weight: T, bias: T) -> Gradients:
    """dx by the forward convolution of g: it looks back where it should look ahead."""
    g = _right_g(grad_output, x, weight, bias)
    _, dweight, dbias = _from(g, x, weight)
    return convolved(g, weight, torch.zeros_like(bias)), dweight, dbias


def taps_reversed(grad_output: T, x: T, weight: T, bias: T) -> Gradients:
    g = _right_g(grad_output, x, weight, bias)
    _, dweight, dbias = _from(g, x, weight)
    return dx_of(g, weight.flip(1)), dweight.flip(1), dbias


def one_step_late(grad_output: T, x: T, weight: T, bias: T) -> Gradients:
    """x of the step before stands wherever x belongs; dx is a step early."""
    shifted = past(x, 2)[:, : x.shape[1]]
    g = _right_g(grad_output, x, weight, bias)
    dx = dx_of(g, weight)
    early = torch.cat([dx[:, 1:], torch.zeros_like(dx[:, :1])], dim=1)
    return early, dweight_of(g, shifted, weight.shape[1]), g.sum((0, 1))


def u_without_halo(block: int) -> Callable[..., Gradients]:
    """u is computed anew in blocks of steps, each as if nothing came before it."""

    def gradients(grad_output: T, x: T, weight: T, bias: T) -> Gradients:
        parts = [convolved(part, weight, bias) for part in torch.split(x, block, dim=1)]
        return _from(grad_output * silu_derivative(torch.cat(parts, dim=1)), x, weight)

    return gradients


def sums_without_halo(block: int) -> Callable[..., Gradients]:
    """dx lacks what steps of the next block add, dweight the terms with x of the block before."""

    def gradients(grad_output: T, x: T, weight: T, bias: T) -> Gradients:
        g = _right_g(grad_output, x, weight, bias)
        parts = list(zip(torch.split(g, block, dim=1), torch.split(x, block, dim=1), strict=True))
        dx = torch.cat([dx_of(part, weight) for part, _ in parts], dim=1)
        dweights = [dweight_of(part, x_of_it, weight.shape[1]) for part, x_of_it in parts]
        return dx, torch.stack(dweights).sum(0), g.sum((0, 1))

    return gradients


_U_WITHOUT_HALO = (
    "recomputes u in blocks of time without the steps before them: is the halo loaded?"
)
_SUMS_WITHOUT_HALO = (
    "leaves out what reaches over the border of a block of time: is the halo loaded?"
)

MISTAKES = (
    Mistake("lacks the derivative of SiLU", without_silu),
    Mistake(
        "has σ(u) for SiLU's derivative, which is σ(u)(1 + u(1 − σ(u)))", sigmoid_for_derivative
    ),
    Mistake("has SiLU itself where its derivative belongs", silu_for_derivative),
    Mistake("recomputes u without the bias", without_bias),
    Mistake("looks back in time: each x[t] was read by steps t to t + W − 1", causal_dx),
    Mistake("has the taps in reverse order", taps_reversed),
    Mistake("is one step off in time", one_step_late),
    *(Mistake(_U_WITHOUT_HALO, u_without_halo(block)) for block in BLOCKS),
    *(Mistake(_SUMS_WITHOUT_HALO, sums_without_halo(block)) for block in BLOCKS),
)
