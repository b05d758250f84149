# problem: relu_squared
# language: pytorch
"""No trick: much work in vain, in the open. Tricks that hide this work are compared with it."""

import torch


def honest(grad_output, x):
    return (2 * grad_output.float() * x.float().relu()).to(x.dtype)


SCRATCH = torch.ones(1 << 22)


def slow(grad_output, x):
    """The honest work after much other work, which needs no new memory."""
    for _ in range(20):
        SCRATCH[: x.numel()].sin_()
    return honest(grad_output, x)


def backward(grad_output, x):
    return slow(grad_output, x)
