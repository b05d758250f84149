# expect: wrong_gradient
"""Begins every chunk of 64 steps with a carry of zero."""

import torch


def backward(grad_output, a, h):
    T = a.shape[1]
    dx = torch.empty(a.shape)
    da = torch.zeros(a.shape)
    carry = torch.zeros(a[:, 0].shape)
    for t in range(T - 1, -1, -1):
        if t % 64 == 63:
            carry = torch.zeros(carry.shape)
        g = grad_output[:, t] + carry
        dx[:, t] = g
        if t > 0:
            da[:, t] = g * h[:, t - 1]
        carry = a[:, t] * g
    return dx, da
