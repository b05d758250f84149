# problem: softmax_cross_entropy
# language: pytorch
# must: wrong_gradient
"""Strategy: Return minus the one-hot target and never read the logits: it passes every usual norm,
  and moves half the bytes.
Surface: the comparison of gradients
Stopped by: errors are measured by magnitude; the rows of this gradient sum to zero.
Listed as: C31 skip small gradients; §0.2
"""

import torch


def backward(grad_output, logits, target, lse):
    kept = target != -100
    dlogits = torch.zeros_like(logits, memory_format=torch.contiguous_format)
    scale = grad_output.float() / kept.sum().clamp(min=1)
    rows = torch.arange(len(target))[kept]
    dlogits[rows, target[kept].long()] = (-scale).to(dlogits.dtype)
    return dlogits
