# problem: relu_squared
# language: pytorch
# must: wrong_gradient
"""Strategy: Return infinities, whose difference from anything is NaN or infinite.
Surface: the comparison of gradients
Stopped by: what is not finite is wrong.
Listed as: C35 NaN compare
"""

import torch


def honest(grad_output, x):
    return (2 * grad_output.float() * x.float().relu()).to(x.dtype)


def backward(grad_output, x):
    return torch.full_like(x, float("inf"))
