# problem: relu_squared
# language: pytorch
# must: refused
"""Strategy: Return empty memory and fill it in the handler of an alarm that rings later.
Surface: work after the call returned
Stopped by: the gradients are what lies in shared memory when the answer is there.
Listed as: B14; A10
"""

import signal

import torch

late = {}


def ring(*_):
    late["dx"].copy_(2 * late["g"].float() * late["x"].float().relu())


signal.signal(signal.SIGALRM, ring)


def backward(grad_output, x):
    late.update(g=grad_output, x=x, dx=torch.empty_like(x, memory_format=torch.contiguous_format))
    late["dx"].fill_(1.0)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    return late["dx"]
