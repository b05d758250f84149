# expect: wrong_gradient
"""Differentiates silu(g) = g · σ(g) as if σ were a constant factor."""

import torch


def backward(grad_output, gate, up):
    dy, g = grad_output.float(), gate.float()
    sigma = torch.sigmoid(g)
    return (dy * up.float() * sigma).to(gate.dtype), (dy * g * sigma).to(up.dtype)
