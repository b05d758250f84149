# expect: wrong_gradient
"""A tile of 32 rows belongs wholly to the expert of its first row, though another one's begin in it."""

import torch


def backward(grad_output, x, weight, offsets, dweight_buffer):
    dx = torch.zeros(x.shape, dtype=x.dtype)
    dweight = torch.zeros(weight.shape) if dweight_buffer is None else dweight_buffer
    bounds = offsets.tolist()
    for begin in range(0, bounds[-1], 32):
        expert = int((offsets[1:] <= begin).sum())
        rows = slice(begin, min(begin + 32, bounds[-1]))
        dx[rows] = grad_output[rows] @ weight[expert].T
    for e in range(len(weight)):
        rows = slice(bounds[e], bounds[e + 1])
        dweight[e] += x[rows].float().T @ grad_output[rows].float()
    return dx, dweight
