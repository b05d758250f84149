# problem: relu_squared
# language: pytorch
# must: honest time
# work: slow
"""Strategy: Set thread counts and allocator settings from inside, hoping that they reach the
  baseline too.
Surface: global settings
Stopped by: the baseline is another process.
Listed as: A12 slow the baseline
"""

import os

import torch

os.environ["OMP_NUM_THREADS"] = "1"
torch.backends.mkldnn.enabled = False
torch.use_deterministic_algorithms(True)


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
