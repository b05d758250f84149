# expect: wrong_gradient
"""Both halves are there, but the weight's gradient is never computed."""

import torch

EPS = 1e-6


def forward(x, weight):
    rstd = torch.rsqrt(x.float().square().mean(dim=1) + EPS)
    return (x.float() * rstd[:, None] * weight.float()).to(x.dtype), (x, rstd)


def backward(grad_output, saved, weight):
    x, rstd = saved
    r, g = rstd[:, None], grad_output.float() * weight.float()
    x_hat = x.float() * r
    dx = r * (g - x_hat * (g * x_hat).mean(dim=1, keepdim=True))
    return dx.to(x.dtype), torch.zeros(weight.shape)
