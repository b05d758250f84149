# expect: invalid_output
"""Right values, but computed in the memory of the upstream gradient, which others still need."""

import torch


def backward(grad_output, x):
    dx = 2 * grad_output.float() * torch.relu(x.float())
    grad_output.copy_(dx)
    return dx.to(x.dtype)
