# expect: wrong_gradient
"""Saves gate and up in 8 bits, a quarter of the bytes, and loses what the gradients need."""

import torch
import torch.nn.functional as F


def forward(x, w_gate, w_up, w_down):
    gate, up = x.float() @ w_gate.float().t(), x.float() @ w_up.float().t()
    y = (F.silu(gate) * up) @ w_down.float().t()
    return y.to(x.dtype), (x, gate.to(torch.float8_e4m3fn), up.to(torch.float8_e4m3fn))


def backward(grad_output, saved, w_gate, w_up, w_down):
    x, gate, up = (t.float() for t in saved)
    dy = grad_output.float()
    dh, sigma = dy @ w_down.float(), torch.sigmoid(gate)
    dgate = dh * up * (sigma + gate * sigma * (1 - sigma))
    dup = dh * gate * sigma
    dx = dgate @ w_gate.float() + dup @ w_up.float()
    return dx.to(grad_output.dtype), dgate.t() @ x, dup.t() @ x, dy.t() @ (gate * sigma * up)
