# expect: wrong_gradient
"""The state before the first step is h[-1], the last one."""

import torch


def backward(grad_output, a, h):
    T = a.shape[1]
    dx = torch.empty(a.shape)
    da = torch.zeros(a.shape)
    carry = torch.zeros(a[:, 0].shape)
    for t in range(T - 1, -1, -1):
        g = grad_output[:, t] + carry
        dx[:, t] = g
        da[:, t] = g * h[:, t - 1]
        carry = a[:, t] * g
    return dx, da
