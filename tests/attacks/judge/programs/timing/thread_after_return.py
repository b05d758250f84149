# problem: relu_squared
# language: pytorch
# must: refused
"""Strategy: Return empty memory and fill it from a thread.
Surface: work after the call returned
Stopped by: the clock runs until the gradients lie in shared memory, and what lies there is what
  is compared.
Listed as: B14 thread injection; B13
"""

import threading
import time

import torch


def fill(dx, grad_output, x):
    time.sleep(0.2)
    dx.copy_(2 * grad_output.float() * x.float().relu())


def backward(grad_output, x):
    dx = torch.empty_like(x, memory_format=torch.contiguous_format)
    threading.Thread(target=fill, args=(dx, grad_output, x), daemon=True).start()
    return dx
