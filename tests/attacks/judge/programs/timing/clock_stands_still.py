# problem: relu_squared
# language: pytorch
# must: honest time
# work: slow
"""Strategy: Patch time.perf_counter to a clock that stands still.
Surface: the clock inside the process
Stopped by: the judge's own clock decides; a report that disagrees with it is not ranked.
Listed as: A8 Python monkeypatch (lying clock)
"""

import time

import torch

time.perf_counter = lambda: 0.0


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
