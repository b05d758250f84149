# problem: relu_squared
# language: pytorch
# must: honest time
# work: slow
"""Strategy: Return empty memory and compute when the harness lets go of it, straight into the
  shared memory.
Surface: finalisers
Stopped by: the clock runs until the answer is there.
Listed as: B14; A10
"""

import gc
import sys
import weakref

import torch

tensors = sys.modules["harness.tensors"]
harness = next(o for o in gc.get_objects() if type(o).__name__ == "Harness")


def honest(grad_output, x):
    return (2 * grad_output.float() * x.float().relu()).to(x.dtype)


SCRATCH = torch.ones(1 << 22)


def slow(grad_output, x):
    """The honest work after much other work, which needs no new memory."""
    for _ in range(20):
        SCRATCH[: x.numel()].sin_()
    return honest(grad_output, x)


def late(outputs, want):
    place = harness._outputs[want["offset"] : want["offset"] + want["bytes"]]
    place.view(outputs.dtype).view(outputs.shape).copy_(outputs)


def backward(grad_output, x):
    dx = torch.empty_like(x, memory_format=torch.contiguous_format)
    weakref.finalize(dx, lambda: late(slow(grad_output, x), harness._wanted[0]))
    return dx


tensors.store = lambda outputs, wanted, arena: None
