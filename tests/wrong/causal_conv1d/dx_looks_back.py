# expect: wrong_gradient
"""Convolves g as forward convolves x: dx collects from the past."""

import torch
import torch.nn.functional as F


def backward(grad_output, x, weight, bias):
    T, W = x.shape[1], weight.shape[1]
    w = weight.float()
    past = F.pad(x.float(), (0, 0, W - 1, 0))
    u = bias.float() + sum(w[:, k] * past[:, k : k + T] for k in range(W))
    s = torch.sigmoid(u)
    g = grad_output.float() * s * (1 + u * (1 - s))
    behind = F.pad(g, (0, 0, W - 1, 0))
    dx = sum(w[:, k] * behind[:, k : k + T] for k in range(W))
    dweight = torch.stack([(g * past[:, k : k + T]).sum((0, 1)) for k in range(W)], dim=-1)
    return dx.to(x.dtype).contiguous(), dweight, g.sum((0, 1))
