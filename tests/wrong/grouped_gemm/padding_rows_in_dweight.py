# expect: wrong_gradient
"""The last expert goes on to the end of the buffer, over rows that are nobody's."""

import torch


def backward(grad_output, x, weight, offsets, dweight_buffer):
    dx = torch.zeros(x.shape, dtype=x.dtype)
    dweight = torch.zeros(weight.shape) if dweight_buffer is None else dweight_buffer
    bounds = offsets.tolist()
    for e in range(len(weight)):
        rows = slice(bounds[e], bounds[e + 1])
        if e == len(weight) - 1:
            rows = slice(bounds[e], len(x))
        dx[bounds[e] : bounds[e + 1]] = grad_output[bounds[e] : bounds[e + 1]] @ weight[e].T
        dweight[e] += x[rows].float().T @ grad_output[rows].float()
    return dx, dweight
