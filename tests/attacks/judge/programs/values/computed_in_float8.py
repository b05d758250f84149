# problem: relu_squared
# language: pytorch
# must: wrong_gradient
"""Strategy: Compute in a narrower type than asked for.
Surface: the comparison of gradients
Stopped by: the error allowed is that of the plain backward in the declared types.
Listed as: C34 dtype downgrade
"""

import torch


def honest(grad_output, x):
    return (2 * grad_output.float() * x.float().relu()).to(x.dtype)


def backward(grad_output, x):
    g = grad_output.to(torch.float8_e4m3fn).float()
    return honest(g, x)
