# problem: rms_norm_pair
# language: pytorch
# must: invalid_output
"""Strategy: Save one number as a view of a terabyte with stride 0, to count little or exhaust the judge.
Surface: the bytes that are counted as saved
Stopped by: a view counts with its elements, of which there may be so many and no more.
Listed as: state between forward and backward
"""

import torch

EPS = 1e-6


def forward(x, weight):
    rstd = torch.rsqrt(x.float().square().mean(dim=1) + EPS)
    y = (x.float() * rstd[:, None] * weight.float()).to(x.dtype)
    return y, (torch.zeros(1).expand(1 << 38),)


def backward(grad_output, saved, weight):
    return torch.zeros(grad_output.shape, dtype=grad_output.dtype), torch.zeros(weight.shape)
