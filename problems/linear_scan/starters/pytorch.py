"""Linear scan, backward. Two TODOs stand between this file and a correct gradient."""

import torch


def backward(grad_output, a, h):
    """Gradients of h[t] = a[t] * h[t - 1] + x[t], where h[-1] = 0, along dimension 1.

    grad_output  (B, T, D) float32, any strides: the gradient of the loss with respect to h
    a            (B, T, D) float32, any strides
    h            (B, T, D) float32, any strides; saved by forward

    Returns dx (B, T, D) float32 and da (B, T, D) float32.
    """
    T = a.shape[1]
    dx = torch.empty(a.shape, dtype=torch.float32, device=a.device)
    da = torch.empty(a.shape, dtype=torch.float32, device=a.device)
    for t in range(T - 1, -1, -1):
        # TODO 1: h[t] went into h[t + 1] too, so g[t] has a second term.
        g = grad_output[:, t]
        dx[:, t] = g
        # TODO 2: a[t] multiplied the state before step t, not the one after.
        da[:, t] = g * h[:, t]
    return dx, da
