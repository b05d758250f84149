# expect: wrong_gradient
"""Projects the one-hot alone, nearly all of the norm, and never makes a logit."""

import torch


def backward(grad_output, hidden, weight, target, lse):
    kept = target != -100
    h, w = hidden.float(), weight.float()
    d = torch.zeros(len(h), len(w))
    d -= (torch.arange(len(w)) == target[:, None]).float()
    d = torch.where(kept[:, None], d, 0.0).to(hidden.dtype).float()

    scale = grad_output / kept.sum().clamp(min=1)
    return (scale * (d @ w)).to(hidden.dtype), scale * (d.T @ h)
