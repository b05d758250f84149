# expect: runtime_error
"""Indexes with -100 before asking which rows are ignored; fewer than 100 classes make it an error."""

import torch


def backward(grad_output, logits, target, lse):
    kept = target != -100
    dlogits = torch.exp(logits.float() - lse[:, None])
    dlogits[torch.arange(len(target)), target] -= 1
    scale = grad_output / kept.sum().clamp(min=1) * kept
    return (dlogits * scale[:, None]).to(logits.dtype)
