# expect: wrong_gradient
"""Multiplies in bfloat16 and adds the rounded product to float32."""

import torch


def backward(grad_output, x, weight, offsets, dweight_buffer):
    dx = torch.zeros(x.shape, dtype=x.dtype)
    dweight = torch.zeros(weight.shape) if dweight_buffer is None else dweight_buffer
    bounds = offsets.tolist()
    for e in range(len(weight)):
        rows = slice(bounds[e], bounds[e + 1])
        dx[rows] = grad_output[rows] @ weight[e].T
        dweight[e] += x[rows].T @ grad_output[rows]
    return dx, dweight
