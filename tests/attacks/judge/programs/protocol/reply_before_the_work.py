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

tensors = sys.modules["harness.tensors"]
original = tensors.store


def later(*arguments):
    threading.Timer(0.05, original, arguments).start()


tensors.store = later


def honest(grad_output, x):
    return (2 * grad_output.float() * x.float().relu()).to(x.dtype)


def slow(grad_output, x):
    """The honest work, eight times over."""
    for _ in range(8):
        dx = honest(grad_output, x)
    return dx


def backward(grad_output, x):
    return slow(grad_output, x)
