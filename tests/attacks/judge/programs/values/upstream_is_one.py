# problem: relu_squared
# language: pytorch
# must: wrong_gradient
"""Strategy: Take the upstream gradient as one.
Surface: the comparison of gradients
Stopped by: upstream gradients are random, zero, one-hot.
Listed as: C40 grad_output assumed 1
"""

import torch


def honest(grad_output, x):
    return (2 * grad_output.float() * x.float().relu()).to(x.dtype)


def backward(grad_output, x):
    return honest(torch.ones_like(grad_output), x)
