# expect: wrong_gradient
"""Divides by the number of rows that count without asking whether there are any."""

import torch


def backward(grad_output, logits, target, lse):
    kept = target != -100
    rows = torch.arange(len(target))
    dlogits = torch.exp(logits.float() - lse[:, None])
    dlogits[rows, target.clamp(min=0)] -= 1

    scale = grad_output / kept.sum()
    return torch.where(kept[:, None] | (kept.sum() == 0), dlogits * scale, 0.0).to(logits.dtype)
