# expect: wrong_gradient
"""Splits the batch in parts of 64 rows and rounds what each of them adds to bfloat16."""

import torch


def backward(grad_output, x, weight, dweight_buffer):
    dy = grad_output.float()
    dweight = torch.zeros(weight.shape)
    for rows, inputs in zip(dy.split(64), x.float().split(64), strict=True):
        dweight += (rows.T @ inputs).to(torch.bfloat16)
    if dweight_buffer is not None:
        dweight = dweight_buffer.add_(dweight)
    return (dy @ weight.float()).to(x.dtype), dweight, dy.sum(dim=0)
