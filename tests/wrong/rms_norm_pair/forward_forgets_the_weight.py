# expect: wrong_output
"""The gradients are right, the output is that of a norm without a weight."""

import torch

EPS = 1e-6


def forward(x, weight):
    rstd = torch.rsqrt(x.float().square().mean(dim=1) + EPS)
    return (x.float() * rstd[:, None]).to(x.dtype), (x, rstd)


def backward(grad_output, saved, weight):
    x, rstd = saved
    r, g = rstd[:, None], grad_output.float() * weight.float()
    x_hat = x.float() * r
    dx = r * (g - x_hat * (g * x_hat).mean(dim=1, keepdim=True))
    return dx.to(x.dtype), (grad_output.float() * x_hat).sum(dim=0)
