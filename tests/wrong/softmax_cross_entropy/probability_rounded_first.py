# expect: wrong_gradient
"""Rounds the probability to bfloat16 before one is subtracted: of p − 1 near 0 few bits are left."""

import torch


def backward(grad_output, logits, target, lse):
    kept = target != -100
    dlogits = torch.exp(logits.float() - lse[:, None]).to(logits.dtype)
    dlogits[torch.arange(len(target)), target.clamp(min=0)] -= 1
    scale = grad_output / kept.sum().clamp(min=1) * kept
    return (dlogits.float() * scale[:, None]).to(logits.dtype)
