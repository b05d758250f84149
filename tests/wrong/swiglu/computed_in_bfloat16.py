# expect: wrong_gradient
"""The right formula with every intermediate result rounded to bfloat16."""

import torch


def backward(grad_output, gate, up):
    sigma = torch.sigmoid(gate)
    silu = gate * sigma
    return grad_output * up * (sigma + silu * (1 - sigma)), grad_output * silu
