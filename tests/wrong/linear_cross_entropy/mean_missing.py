# expect: wrong_gradient
"""The gradients of the sum of the losses: nothing divides by the number of rows that count."""

import torch


def backward(grad_output, hidden, weight, target, lse):
    kept = target != -100
    h, w = hidden.float(), weight.float()
    d = torch.exp(h @ w.T - lse[:, None])
    d -= (torch.arange(len(w)) == target[:, None]).float()
    d = torch.where(kept[:, None], d, 0.0).to(hidden.dtype).float()

    scale = grad_output
    return (scale * (d @ w)).to(hidden.dtype), scale * (d.T @ h)
