# expect: wrong_gradient
"""Takes the row of the tables by the head's number, as if heads and tokens were exchanged."""

import torch


def backward(grad_output, cos, sin):
    first, second = grad_output.float().chunk(2, dim=-1)
    rows = torch.arange(grad_output.shape[1]) % len(cos)
    c, s = cos[rows], sin[rows]
    return torch.cat((first * c + second * s, second * c - first * s), dim=-1).to(grad_output.dtype)
