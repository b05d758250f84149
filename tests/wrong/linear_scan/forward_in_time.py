# expect: wrong_gradient
"""Scans from the first step to the last, as forward does."""

import torch


def backward(grad_output, a, h):
    T = a.shape[1]
    dx = torch.empty(a.shape)
    da = torch.zeros(a.shape)
    carry = torch.zeros(a[:, 0].shape)
    for t in range(T):
        g = grad_output[:, t] + carry
        dx[:, t] = g
        if t > 0:
            da[:, t] = g * h[:, t - 1]
        carry = a[:, t] * g
    return dx, da
