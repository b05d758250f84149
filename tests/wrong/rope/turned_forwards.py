# expect: wrong_gradient
"""Calls forward a second time: the right length, the wrong direction."""

import torch


def backward(grad_output, cos, sin):
    first, second = grad_output.float().chunk(2, dim=-1)
    c, s = cos[:, None], sin[:, None]
    return torch.cat((first * c - second * s, second * c + first * s), dim=-1).to(grad_output.dtype)
