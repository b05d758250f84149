# problem: rms_norm
# language: pytorch
# must: invalid_output
"""Strategy: Return one tensor for several gradients.
Surface: the comparison of gradients
Stopped by: each gradient needs memory of its own.
Listed as: C28 stale memory
"""

import torch


def backward(grad_output, x, weight, rstd):
    both = torch.zeros(max(x.numel(), weight.numel()) * 4, dtype=torch.uint8)
    dx = both.view(x.dtype)[: x.numel()].view(x.shape)
    dweight = both.view(torch.float32)[: weight.numel()].view(weight.shape)
    return dx, dweight
