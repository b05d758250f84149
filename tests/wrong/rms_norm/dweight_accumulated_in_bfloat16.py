# expect: wrong_gradient
"""Adds the rows up one by one in bfloat16: the sum stops growing when a term is below its last bit."""

import torch


def backward(grad_output, x, weight, rstd):
    dy, r = grad_output.float(), rstd[:, None]
    x_hat = x.float() * r
    g = dy * weight.float()
    dx = r * (g - x_hat * (g * x_hat).mean(dim=1, keepdim=True))
    total = torch.zeros(x.shape[1], dtype=torch.bfloat16)
    for row in (dy * x_hat).to(torch.bfloat16):
        total += row
    return dx.to(x.dtype), total.float()
