# expect: wrong_gradient
"""Skips experts without rows, whose dweight keeps what memory held."""

import torch


def backward(grad_output, x, weight, offsets, dweight_buffer):
    dx = torch.zeros(x.shape, dtype=x.dtype)
    dweight = torch.full(weight.shape, float("nan")) if dweight_buffer is None else dweight_buffer
    bounds = offsets.tolist()
    for e in range(len(weight)):
        rows = slice(bounds[e], bounds[e + 1])
        if bounds[e] == bounds[e + 1]:
            continue
        dx[rows] = grad_output[rows] @ weight[e].T
        product = x[rows].float().T @ grad_output[rows].float()
        if dweight_buffer is None:
            dweight[e] = product
        else:
            dweight[e] += product
    return dx, dweight
