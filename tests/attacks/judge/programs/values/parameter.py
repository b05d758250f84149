# problem: relu_squared
# language: pytorch
# must: invalid_output
"""Strategy: Return a torch.nn.Parameter.
Surface: the comparison of gradients
Stopped by: exactly torch.Tensor is asked for.
Listed as: B15 lazy output
"""

import torch


def honest(grad_output, x):
    return (2 * grad_output.float() * x.float().relu()).to(x.dtype)


def backward(grad_output, x):
    return torch.nn.Parameter(honest(grad_output, x))
