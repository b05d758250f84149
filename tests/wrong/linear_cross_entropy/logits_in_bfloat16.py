# expect: wrong_gradient
"""Takes the logits from a product that returns bfloat16."""

import torch


def backward(grad_output, hidden, weight, target, lse):
    kept = target != -100
    h, w = hidden.float(), weight.float()
    d = torch.exp((hidden @ weight.T).float() - lse[:, None])
    d -= (torch.arange(len(w)) == target[:, None]).float()
    d = torch.where(kept[:, None], d, 0.0).to(hidden.dtype).float()

    scale = grad_output / kept.sum().clamp(min=1)
    return (scale * (d @ w)).to(hidden.dtype), scale * (d.T @ h)
