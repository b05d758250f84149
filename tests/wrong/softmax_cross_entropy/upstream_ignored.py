# expect: wrong_gradient
"""Takes the upstream gradient for one, as it is when the loss is the last thing computed."""

import torch


def backward(grad_output, logits, target, lse):
    kept = target != -100
    rows = torch.arange(len(target))
    dlogits = torch.exp(logits.float() - lse[:, None])
    dlogits[rows, target.clamp(min=0)] -= 1

    return (dlogits * (kept / kept.sum().clamp(min=1))[:, None]).to(logits.dtype)
