# expect: wrong_gradient
"""Saves two bytes a row, by rounding the row statistic to 8 bits."""

import torch

EPS = 1e-6


def forward(x, weight):
    rstd = torch.rsqrt(x.float().square().mean(dim=1) + EPS)
    y = x.float() * rstd[:, None] * weight.float()
    return y.to(x.dtype), (x, rstd.to(torch.bfloat16))


def backward(grad_output, saved, weight):
    x, rstd = saved
    r, g = rstd.float()[:, None], grad_output.float() * weight.float()
    x_hat = x.float() * r
    dx = r * (g - x_hat * (g * x_hat).mean(dim=1, keepdim=True))
    return dx.to(x.dtype), (grad_output.float() * x_hat).sum(dim=0)
