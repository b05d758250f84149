"""Rotary embedding, backward. One TODO stands between this file and a correct gradient."""

import torch


def backward(grad_output, cos, sin):
    """Gradient of y = rotate(x), which turns elements p and p + P of each head by the token's angle p.

    grad_output  (M, H, 2P) bfloat16, any strides: the gradient of the loss with respect to y
    cos          (M, P)     float32, any strides: one row a token, for all of its heads
    sin          (M, P)     float32, any strides

    Returns dx (M, H, 2P) bfloat16.
    """
    P = cos.shape[1]
    # bfloat16 is for memory; compute in float32.
    first, second = grad_output[..., :P].float(), grad_output[..., P:].float()
    c, s = cos[:, None], sin[:, None]

    # TODO: this is the rotation of forward. Which way does its gradient turn?
    dx = torch.cat((first * c - second * s, second * c + first * s), dim=-1)
    return dx.to(grad_output.dtype)
