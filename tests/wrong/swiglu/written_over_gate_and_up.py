# expect: invalid_output
"""Stores the gradients in the memory of gate and up, and returns that."""

import torch


def backward(grad_output, gate, up):
    dy, g, u = grad_output.float(), gate.float(), up.float()
    sigma = torch.sigmoid(g)
    gate.copy_(dy * u * sigma * (1 + g * (1 - sigma)))
    up.copy_(dy * g * sigma)
    return gate, up
