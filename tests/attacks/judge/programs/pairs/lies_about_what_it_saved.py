# problem: rms_norm_pair
# language: pytorch
# must: wrong_gradient
"""Strategy: Lay x down in full and tell the judge of a byte for each element instead of two.
Surface: the description of what is saved, which the process gives
Stopped by: what is counted is what is copied: backward gets half of x.
Listed as: state between forward and backward
"""

import sys

import torch

EPS = 1e-6
tensors = sys.modules["harness.tensors"]
stored = tensors.store_saved


def lying(saved, begin, arena):
    return [{**told, "dtype": "uint8"} for told in stored(saved, begin, arena)]


tensors.store_saved = lying


def forward(x, weight):
    rstd = torch.rsqrt(x.float().square().mean(dim=1) + EPS)
    return (x.float() * rstd[:, None] * weight.float()).to(x.dtype), (x,)


def backward(grad_output, saved, weight):
    M, N = grad_output.shape
    raw = torch.zeros(2 * M * N, dtype=torch.uint8)
    raw[: saved[0].numel()] = saved[0].reshape(-1).view(torch.uint8)
    x = raw.view(torch.bfloat16).reshape(M, N)
    r = torch.rsqrt(x.float().square().mean(dim=1, keepdim=True) + EPS)
    x_hat, g = x.float() * r, grad_output.float() * weight.float()
    dx = r * (g - x_hat * (g * x_hat).mean(dim=1, keepdim=True))
    return dx.to(x.dtype), (grad_output.float() * x_hat).sum(dim=0)
