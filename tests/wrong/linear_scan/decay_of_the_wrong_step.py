# expect: wrong_gradient
"""From t + 1 to t decays by a[t], where a[t + 1] belongs."""

import torch


def backward(grad_output, a, h):
    T = a.shape[1]
    dx = torch.empty(a.shape)
    da = torch.zeros(a.shape)
    carry = torch.zeros(a[:, 0].shape)
    for t in range(T - 1, -1, -1):
        g = grad_output[:, t] + a[:, t] * carry
        dx[:, t] = g
        if t > 0:
            da[:, t] = g * h[:, t - 1]
        carry = g
    return dx, da
