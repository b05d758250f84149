"""Causal convolution with SiLU, backward. Two TODOs stand between this file and a correct gradient."""

import torch
import torch.nn.functional as F


def backward(grad_output, x, weight, bias):
    """Gradients of y = silu(u), u[t] = bias + sum over k of weight[:, k] * x[t - (W - 1) + k].

    grad_output  (B, T, D) bfloat16, any strides: the gradient of the loss with respect to y
    x            (B, T, D) bfloat16, any strides
    weight       (D, W)    bfloat16, any strides; the taps of each channel, oldest first
    bias         (D,)      bfloat16

    Returns dx (B, T, D) bfloat16, dweight (D, W) float32 and dbias (D,) float32.
    """
    # bfloat16 is for memory; compute in float32.
    T, W = x.shape[1], weight.shape[1]
    w = weight.float()
    past = F.pad(x.float(), (0, 0, W - 1, 0))  # W - 1 steps of zeros before the first
    u = bias.float() + sum(w[:, k] * past[:, k : k + T] for k in range(W))
    s = torch.sigmoid(u)

    # TODO 1: the derivative of silu(u) = u * s has a second term, through s.
    g = grad_output.float() * s

    # TODO 2: x[t] was read by steps t, t + 1, ..., t + W - 1. So far dx holds step t alone.
    dx = w[:, W - 1] * g

    dweight = torch.stack([(g * past[:, k : k + T]).sum((0, 1)) for k in range(W)], dim=-1)
    return dx.to(x.dtype).contiguous(), dweight, g.sum((0, 1))
