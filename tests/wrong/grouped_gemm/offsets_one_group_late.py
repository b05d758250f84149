# expect: wrong_gradient
"""Takes offsets[e - 1] for the beginning of expert e."""

import torch


def backward(grad_output, x, weight, offsets, dweight_buffer):
    dx = torch.zeros(x.shape, dtype=x.dtype)
    dweight = torch.zeros(weight.shape) if dweight_buffer is None else dweight_buffer
    bounds = offsets.tolist()
    for e in range(len(weight)):
        rows = slice(bounds[e], bounds[e + 1])
        rows = slice(bounds[max(e - 1, 0)], bounds[e])
        dx[rows] = grad_output[rows] @ weight[e].T
        dweight[e] += x[rows].float().T @ grad_output[rows].float()
    return dx, dweight
