# problem: relu_squared
# language: pytorch
# must: honest time
# work: slow
"""Strategy: Remember gradients by a fingerprint of a few elements and the shape.
Surface: values that come again
Stopped by: values are new in every call, so nothing is ever found.
Listed as: B17 cache by shape/fingerprint
"""

import torch

memo = {}


def honest(grad_output, x):
    return (2 * grad_output.float() * x.float().relu()).to(x.dtype)


SCRATCH = torch.ones(1 << 22)


def slow(grad_output, x):
    """The honest work after much other work, which needs no new memory."""
    for _ in range(20):
        SCRATCH[: x.numel()].sin_()
    return honest(grad_output, x)


def backward(grad_output, x):
    key = (
        tuple(x.shape),
        tuple(x.flatten()[:16].tolist()),
        tuple(grad_output.flatten()[:16].tolist()),
    )
    if key not in memo:
        memo.clear()
        memo[key] = slow(grad_output, x)
    return memo[key].clone()
