# expect: wrong_gradient
"""Saves the output, which the next layer keeps anyway, and divides the weight out again."""

import torch

EPS = 1e-6


def forward(x, weight):
    rstd = torch.rsqrt(x.float().square().mean(dim=1) + EPS)
    y = (x.float() * rstd[:, None] * weight.float()).to(x.dtype)
    return y, (y, rstd)


def backward(grad_output, saved, weight):
    y, rstd = saved
    r, w = rstd[:, None], weight.float()
    x_hat = y.float() / w
    g = grad_output.float() * w
    dx = r * (g - x_hat * (g * x_hat).mean(dim=1, keepdim=True))
    return dx.to(y.dtype), (grad_output.float() * x_hat).sum(dim=0)
