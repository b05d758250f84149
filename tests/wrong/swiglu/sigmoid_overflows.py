# expect: wrong_gradient
"""Writes σ(g) as exp(g) / (1 + exp(g)), which is NaN for gates above 88."""

import torch


def backward(grad_output, gate, up):
    dy, g = grad_output.float(), gate.float()
    sigma = torch.exp(g) / (1 + torch.exp(g))
    dgate = dy * up.float() * sigma * (1 + g * (1 - sigma))
    return dgate.to(gate.dtype), (dy * g * sigma).to(up.dtype)
