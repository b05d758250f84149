# expect: wrong_gradient
"""Zeroes dweight before it adds to it, whether that is new memory or the buffer."""

import torch


def backward(grad_output, x, weight, offsets, dweight_buffer):
    dx = torch.zeros(x.shape, dtype=x.dtype)
    dweight = torch.zeros(weight.shape) if dweight_buffer is None else dweight_buffer
    bounds = offsets.tolist()
    for e in range(len(weight)):
        rows = slice(bounds[e], bounds[e + 1])
        dweight[e].zero_()
        dx[rows] = grad_output[rows] @ weight[e].T
        dweight[e] += x[rows].float().T @ grad_output[rows].float()
    return dx, dweight
