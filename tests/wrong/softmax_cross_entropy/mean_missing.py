# expect: wrong_gradient
"""The gradient of the sum of the losses: nothing divides by the number of rows."""

import torch


def backward(grad_output, logits, target, lse):
    kept = target != -100
    rows = torch.arange(len(target))
    dlogits = torch.exp(logits.float() - lse[:, None])
    dlogits[rows, target.clamp(min=0)] -= 1

    return (dlogits * (grad_output * kept)[:, None]).to(logits.dtype)
