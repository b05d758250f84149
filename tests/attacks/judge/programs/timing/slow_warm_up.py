# problem: relu_squared
# language: pytorch
# must: honest time
# work: slow
"""Strategy: Sleep in the first calls of a shape, so that an adaptive judge takes fewer samples, or
  drops the honest ones as outliers.
Surface: how many calls are timed
Stopped by: there is a least number of calls, and the median of them counts.
Listed as: B22 warm-up sandbagging
"""

import time

import torch

seen = {}


def honest(grad_output, x):
    return (2 * grad_output.float() * x.float().relu()).to(x.dtype)


SCRATCH = torch.ones(1 << 22)


def slow(grad_output, x):
    """The honest work after much other work, which needs no new memory."""
    for _ in range(20):
        SCRATCH[: x.numel()].sin_()
    return honest(grad_output, x)


def backward(grad_output, x):
    seen[x.shape] = seen.get(x.shape, 0) + 1
    if x.numel() > 1 << 20 and seen[x.shape] < 4:
        time.sleep(1.0)
    return slow(grad_output, x)
