# problem: relu_squared
# language: pytorch
# must: refused
"""Strategy: Answer as soon as the call begins and fill the gradients in afterwards, from a thread.
Surface: the moment at which the judge stops its clock
Stopped by: the gradients are what lies in shared memory when the answer is there; it is
  poisoned before.
Listed as: B14 thread injection; A10 late thread
"""

import sys
import threading

import torch

tensors = sys.modules["harness.tensors"]
original = tensors.store


def later(*arguments):
    threading.Timer(0.05, original, arguments).start()


tensors.store = later


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
