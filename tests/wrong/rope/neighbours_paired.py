# expect: wrong_gradient
"""Pairs neighbouring elements, the convention of GPT-J."""

import torch


def backward(grad_output, cos, sin):
    even, odd = grad_output[..., ::2].float(), grad_output[..., 1::2].float()
    c, s = cos[:, None], sin[:, None]
    turned = torch.stack((even * c + odd * s, odd * c - even * s), dim=-1)
    return turned.flatten(-2).to(grad_output.dtype)
