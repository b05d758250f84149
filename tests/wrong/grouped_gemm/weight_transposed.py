# expect: wrong_gradient
"""Reads each expert's weight as (N, K), which only a square one may be."""

import torch


def backward(grad_output, x, weight, offsets, dweight_buffer):
    dx = torch.zeros(x.shape, dtype=x.dtype)
    dweight = torch.zeros(weight.shape) if dweight_buffer is None else dweight_buffer
    bounds = offsets.tolist()
    for e in range(len(weight)):
        rows = slice(bounds[e], bounds[e + 1])
        turned = weight[e].contiguous().view(weight.shape[2], weight.shape[1])
        dx[rows] = grad_output[rows] @ turned
        dweight[e] += x[rows].float().T @ grad_output[rows].float()
    return dx, dweight
