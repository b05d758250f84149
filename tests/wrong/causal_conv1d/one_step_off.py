# expect: wrong_gradient
"""Shifts by W where W - 1 belongs, so that everything is a step late."""

import torch
import torch.nn.functional as F


def backward(grad_output, x, weight, bias):
    T, W = x.shape[1], weight.shape[1]
    w = weight.float()
    past = F.pad(x.float(), (0, 0, W, 0))
    u = bias.float() + sum(w[:, k] * past[:, k : k + T] for k in range(W))
    s = torch.sigmoid(u)
    g = grad_output.float() * s * (1 + u * (1 - s))
    ahead = F.pad(g, (0, 0, 0, W - 1))
    dx = sum(w[:, k] * ahead[:, W - 1 - k : W - 1 - k + T] for k in range(W))
    dweight = torch.stack([(g * past[:, k : k + T]).sum((0, 1)) for k in range(W)], dim=-1)
    return dx.to(x.dtype).contiguous(), dweight, g.sum((0, 1))
