# expect: wrong_gradient
"""Counts ignored rows out of the mean but leaves a gradient in them."""

import torch


def backward(grad_output, logits, target, lse):
    kept = target != -100
    rows = torch.arange(len(target))
    dlogits = torch.exp(logits.float() - lse[:, None])
    dlogits[rows, target.clamp(min=0)] -= 1

    return (dlogits * grad_output / kept.sum().clamp(min=1)).to(logits.dtype)
