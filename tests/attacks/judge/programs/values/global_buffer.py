# problem: relu_squared
# language: pytorch
# must: invalid_output
"""Strategy: Return the same buffer from every call, and save allocating one.
Surface: the gradients of earlier calls, which a training step still holds
Stopped by: the harness keeps the gradients of the call before and compares addresses.
Listed as: outputs aliasing a global buffer
"""

import torch

BUFFERS = {}


def backward(grad_output, x):
    dx = BUFFERS.setdefault("dx", torch.empty(1 << 24, dtype=x.dtype))[: x.numel()].view(x.shape)
    dx.copy_(2 * grad_output.float() * x.float().relu())
    return dx
