# expect: wrong_gradient
"""Works on whole blocks of 128 elements; what is left over at the end stays as allocated."""

import torch

BLOCK = 128


def backward(grad_output, x):
    dx = torch.zeros(x.shape, dtype=x.dtype)
    whole = x.numel() // BLOCK * BLOCK
    dy, flat = grad_output.reshape(-1)[:whole].float(), x.reshape(-1)[:whole].float()
    dx.view(-1)[:whole] = 2 * dy * torch.relu(flat)
    return dx
