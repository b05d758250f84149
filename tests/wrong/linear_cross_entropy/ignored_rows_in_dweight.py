# expect: wrong_gradient
"""Zeroes the ignored rows of dhidden, but lets them add to dweight."""

import torch


def backward(grad_output, hidden, weight, target, lse):
    kept = target != -100
    h, w = hidden.float(), weight.float()
    d = torch.exp(h @ w.T - lse[:, None])
    d -= (torch.arange(len(w)) == target[:, None]).float()
    d = d.to(hidden.dtype).float()

    scale = grad_output / kept.sum().clamp(min=1)
    return (scale * kept[:, None] * (d @ w)).to(hidden.dtype), scale * (d.T @ h)
