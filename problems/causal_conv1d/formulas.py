"""The convolution, its derivative and its transpose, each by shifted slices of time."""

from __future__ import annotations

import torch
import torch.nn.functional as F

T = torch.Tensor


def past(x: T, width: int) -> T:
    """`x` (B, T, D) with width − 1 steps of zeros before it: step t + k holds x[t - (width - 1) + k]."""
    return F.pad(x, (0, 0, width - 1, 0))


def future(g: T, width: int) -> T:
    """`g` (B, T, D) with width − 1 steps of zeros after it."""
    return F.pad(g, (0, 0, 0, width - 1))


def convolved(x: T, weight: T, bias: T) -> T:
    """`u[t] = bias + Σ_k weight[:, k] · x[t - (W - 1) + k]`, before SiLU."""
    steps, width = x.shape[1], weight.shape[1]
    padded = past(x, width)
    return bias + sum(weight[:, k] * padded[:, k : k + steps] for k in range(width))


def silu_derivative(u: T) -> T:
    """`σ(u) (1 + u (1 − σ(u)))`."""
    s = torch.sigmoid(u)
    return s * (1 + u * (1 - s))


def dx_of(g: T, weight: T) -> T:
    """`dx[t] = Σ_k weight[:, k] · g[t + (W - 1) - k]`, from g, the gradient with respect to u."""
    steps, width = g.shape[1], weight.shape[1]
    ahead = future(g, width)
    terms = [weight[:, k] * ahead[:, width - 1 - k :][:, :steps] for k in range(width)]
    return torch.stack(terms).sum(dim=0)


def dweight_of(g: T, x: T, width: int) -> T:
    """`dweight[:, k] = Σ_bt g[t] · x[t - (W - 1) + k]`, (D, W)."""
    steps, padded = g.shape[1], past(x, width)
    return torch.stack([(g * padded[:, k : k + steps]).sum((0, 1)) for k in range(width)], dim=-1)
