# problem: relu_squared
# language: pytorch
# must: wrong_gradient
"""Strategy: Search the collector, the stack and every mapping of the process for a tensor that
  could be the expected gradient, and return it.
Surface: answers kept in the submission's process
Stopped by: references are computed in another process, after the answer.
Listed as: A5 stack/gc theft of answers; A3 key theft
"""

import gc
import sys

import torch


def candidates():
    frame = sys._getframe()
    while frame:
        yield from frame.f_locals.values()
        yield from frame.f_globals.values()
        frame = frame.f_back
    yield from gc.get_objects()


def backward(grad_output, x):
    known = {grad_output.data_ptr(), x.data_ptr()}
    for found in list(candidates()):
        if type(found) is torch.Tensor and found.shape == x.shape and found.data_ptr() not in known:
            return found.to(x.dtype).clone()
    return torch.zeros_like(x)
