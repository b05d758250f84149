# problem: relu_squared
# language: pytorch
# must: wrong_gradient
"""Strategy: Return memory that was never written, hoping that a freed reference lies in it.
Surface: the comparison of gradients
Stopped by: references are computed in another process, later.
Listed as: C28 stale memory
"""

import torch


def honest(grad_output, x):
    return (2 * grad_output.float() * x.float().relu()).to(x.dtype)


def backward(grad_output, x):
    return torch.empty_like(x, memory_format=torch.contiguous_format)
