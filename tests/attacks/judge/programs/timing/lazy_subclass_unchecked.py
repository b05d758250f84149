# problem: relu_squared
# language: pytorch
# must: honest time
# work: slow
"""Strategy: The same, with the check for a plain tensor patched away.
Surface: the copy that the harness makes
Stopped by: the clock runs until the gradients lie in shared memory: what is computed then is
  timed.
Listed as: B15 lazy output; A8
"""

import sys

import torch

sys.modules["harness.tensors"].check_outputs = lambda returned, *_: [returned]


def honest(grad_output, x):
    return (2 * grad_output.float() * x.float().relu()).to(x.dtype)


SCRATCH = torch.ones(1 << 22)


def slow(grad_output, x):
    """The honest work after much other work, which needs no new memory."""
    for _ in range(20):
        SCRATCH[: x.numel()].sin_()
    return honest(grad_output, x)


class Lazy(torch.Tensor):
    """Computes when somebody reads it."""

    @classmethod
    def __torch_function__(cls, function, types, arguments=(), options=None):
        arguments = [a.work() if isinstance(a, Lazy) else a for a in arguments]
        return function(*arguments, **(options or {}))

    def work(self):
        with torch._C.DisableTorchFunctionSubclass():
            return slow(*self.arguments)


def backward(grad_output, x):
    dx = torch.empty_like(x, memory_format=torch.contiguous_format).as_subclass(Lazy)
    dx.arguments = (grad_output, x)
    return dx
