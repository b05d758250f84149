"""The convolution's backward with a part of the derivation wrong, to be recognised in submissions."""

from __future__ import annotations

import torch

from problems.causal_conv1d.formulas import convolved, dweight_of, dx_of, past, silu_derivative
from problems.spec import Gradients, Mistake

T = torch.Tensor


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
)
