# problem: relu_squared
# language: pytorch
# must: wrong_gradient
"""Strategy: Compute rightly until timing is over: small shapes again mean that it is.
Surface: the order of cases and timing
Stopped by: a case is judged that did not exist before timing.
Listed as: B20 phase replay
"""

import torch

timed = False


def backward(grad_output, x):
    global timed
    timed = timed or x.numel() > 1 << 20
    dx = (2 * grad_output.float() * x.float().relu()).to(x.dtype)
    return torch.zeros_like(dx) if timed and x.numel() <= 1 << 20 else dx
