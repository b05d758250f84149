# problem: rms_norm_pair
# language: pytorch
# must: wrong_gradient
"""Strategy: Save a view of one element whose storage is all of x, and read the storage in backward.
Surface: the bytes that are counted as saved
Stopped by: what crosses is the elements of the view, copied; its storage stays behind.
Listed as: state between forward and backward
"""

import torch

EPS = 1e-6


def forward(x, weight):
    rstd = torch.rsqrt(x.float().square().mean(dim=1) + EPS)
    y = (x.float() * rstd[:, None] * weight.float()).to(x.dtype)
    return y, (x.contiguous().reshape(-1)[:1],)


def backward(grad_output, saved, weight):
    M, N = grad_output.shape
    memory = torch.empty(0, dtype=saved[0].dtype).set_(saved[0].untyped_storage())
    first = saved[0].storage_offset()
    x = torch.zeros(M * N, dtype=saved[0].dtype)
    there = memory[first : first + M * N]
    x[: len(there)] = there
    x = x.reshape(M, N)
    r = torch.rsqrt(x.float().square().mean(dim=1, keepdim=True) + EPS)
    x_hat, g = x.float() * r, grad_output.float() * weight.float()
    dx = r * (g - x_hat * (g * x_hat).mean(dim=1, keepdim=True))
    return dx.to(x.dtype).contiguous(), (grad_output.float() * x_hat).sum(dim=0)
