# problem: relu_squared
# language: pytorch
# must: invalid_output
"""Strategy: Return one row expanded to all, which costs a row's work.
Surface: the comparison of gradients
Stopped by: views with stride 0 are refused.
Listed as: C28; C32
"""

import torch


def honest(grad_output, x):
    return (2 * grad_output.float() * x.float().relu()).to(x.dtype)


def backward(grad_output, x):
    return honest(grad_output[:1], x[:1]).expand_as(x) if len(x) > 1 else torch.zeros_like(x)
