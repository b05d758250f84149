# expect: wrong_gradient
"""Chunks of 64 tokens overwrite dweight instead of adding to it."""

import torch


def backward(grad_output, hidden, weight, target, lse):
    kept = target != -100
    h, w = hidden.float(), weight.float()
    d = torch.exp(h @ w.T - lse[:, None])
    d -= (torch.arange(len(w)) == target[:, None]).float()
    d = torch.where(kept[:, None], d, 0.0).to(hidden.dtype).float()

    scale = grad_output / kept.sum().clamp(min=1)
    for rows, inputs in zip(d.split(64), h.split(64), strict=True):
        dweight = scale * (rows.T @ inputs)
    return (scale * (d @ w)).to(hidden.dtype), dweight
