# problem: relu_squared
# language: pytorch
# must: wrong_gradient
"""Strategy: Return zeros, which pass an absolute tolerance where gradients are small.
Surface: the comparison of gradients
Stopped by: tolerances scale with the gradient.
Listed as: C30 zeros under atol
"""

import torch


def honest(grad_output, x):
    return (2 * grad_output.float() * x.float().relu()).to(x.dtype)


def backward(grad_output, x):
    return torch.zeros_like(x)
