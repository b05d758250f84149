# expect: invalid_output
"""Saves a single tensor without the comma that makes it a tuple."""

import torch

EPS = 1e-6


def forward(x, weight):
    rstd = torch.rsqrt(x.float().square().mean(dim=1) + EPS)
    return (x.float() * rstd[:, None] * weight.float()).to(x.dtype), x


def backward(grad_output, saved, weight):
    return torch.zeros_like(saved), torch.zeros(weight.shape)
