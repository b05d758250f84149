# expect: wrong_gradient
"""Returns the one-hot part alone, nearly all of the norm, and never reads the logits."""

import torch


def backward(grad_output, logits, target, lse):
    kept = target != -100
    dlogits = torch.zeros(logits.shape)
    dlogits[torch.arange(len(target)), target.clamp(min=0)] = -1
    scale = grad_output / kept.sum().clamp(min=1) * kept
    return (dlogits * scale[:, None]).to(logits.dtype)
