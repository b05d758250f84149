# expect: wrong_gradient
"""Each expert's last block of 32 rows runs on into the rows of the next."""

import torch


def backward(grad_output, x, weight, offsets, dweight_buffer):
    dx = torch.zeros(x.shape, dtype=x.dtype)
    dweight = torch.zeros(weight.shape) if dweight_buffer is None else dweight_buffer
    bounds = offsets.tolist()
    for e in range(len(weight)):
        rows = slice(bounds[e], bounds[e + 1])
        dx[rows] = grad_output[rows] @ weight[e].T
        count = -(-(bounds[e + 1] - bounds[e]) // 32) * 32
        block = slice(bounds[e], min(bounds[e] + count, bounds[-1]))
        dweight[e] += x[block].float().T @ grad_output[block].float()
    return dx, dweight
