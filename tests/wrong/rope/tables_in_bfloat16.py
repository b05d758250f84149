# expect: wrong_gradient
"""Keeps the tables in bfloat16, as a model that was cast as a whole does."""

import torch


def backward(grad_output, cos, sin):
    first, second = grad_output.float().chunk(2, dim=-1)
    c, s = cos.bfloat16().float()[:, None], sin.bfloat16().float()[:, None]
    return torch.cat((first * c + second * s, second * c - first * s), dim=-1).to(grad_output.dtype)
