# problem: relu_squared
# language: pytorch
# must: refused
"""Strategy: Compute rightly for as many calls as there are cases, and nothing afterwards.
Surface: the order of cases and timing
Stopped by: timed calls are checked too, and so is a case that did not exist before timing.
Listed as: B20 phase replay; B19 super-batch
"""

import torch

calls = 0


def backward(grad_output, x):
    global calls
    calls += 1
    dx = (2 * grad_output.float() * x.float().relu()).to(x.dtype)
    return dx if calls <= 20 else torch.zeros_like(dx)
