# expect: wrong_gradient
"""Sums dweight over the steps of one sequence only."""

import torch
import torch.nn.functional as F


def backward(grad_output, x, weight, bias):
    T, W = x.shape[1], weight.shape[1]
    w = weight.float()
    past = F.pad(x.float(), (0, 0, W - 1, 0))
    u = bias.float() + sum(w[:, k] * past[:, k : k + T] for k in range(W))
    s = torch.sigmoid(u)
    g = grad_output.float() * s * (1 + u * (1 - s))
    ahead = F.pad(g, (0, 0, 0, W - 1))
    dx = sum(w[:, k] * ahead[:, W - 1 - k : W - 1 - k + T] for k in range(W))
    dweight = torch.stack([(g * past[:, k : k + T])[0].sum(0) for k in range(W)], dim=-1)
    return dx.to(x.dtype).contiguous(), dweight, g.sum((0, 1))
