# expect: wrong_gradient
"""Divides by all rows, ignored ones included."""

import torch


def backward(grad_output, logits, target, lse):
    kept = target != -100
    rows = torch.arange(len(target))
    dlogits = torch.exp(logits.float() - lse[:, None])
    dlogits[rows, target.clamp(min=0)] -= 1

    return (dlogits * (grad_output / len(target) * kept)[:, None]).to(logits.dtype)
