# problem: relu_squared
# language: pytorch
# must: invalid_output
"""Strategy: Return a tensor that has a shape and no memory.
Surface: the comparison of gradients
Stopped by: a dense tensor on the arguments' device is asked for.
Listed as: B15 lazy output
"""

import torch


def honest(grad_output, x):
    return (2 * grad_output.float() * x.float().relu()).to(x.dtype)


def backward(grad_output, x):
    return torch.empty(x.shape, dtype=x.dtype, device="meta")
