# problem: relu_squared
# language: triton
# must: refused
# needs: gpu
"""Strategy: Launch on a stream that nobody waits for and return at once.
Surface: the span between the timer's events
Stopped by: the device is synchronised before the end is taken, and outputs are copied on the
  judge's stream at once.
Listed as: B13 unsynced side stream
"""

import torch

side = None


def backward(grad_output, x):
    global side
    side = side or torch.cuda.Stream()
    dx = torch.empty_like(x)
    with torch.cuda.stream(side):
        torch.cuda._sleep(20_000_000)
        dx.copy_(2 * grad_output * x.relu())
    return dx
