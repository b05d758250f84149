"""The SwiGLU MLP, forward and backward, in plain PyTorch: x alone is saved, the rest computed anew.

See notes.md for what that costs and saves.
"""

import torch


def forward(x, w_gate, w_up, w_down):
    """y (M, D) in x's dtype, and what is saved: x alone; any strides."""
    gate, up = _gate_and_up(x.float(), w_gate, w_up)
    h = gate.mul_(torch.sigmoid(gate)).mul_(up)
    return (h @ w_down.float().t()).to(x.dtype), (x,)


def backward(grad_output, saved, w_gate, w_up, w_down):
    """dx (M, D) in x's dtype; dw_gate, dw_up (F, D) and dw_down (D, F) in float32; any strides."""
    (x,) = saved
    rows, dy = x.float(), grad_output.float()
    gate, up = _gate_and_up(rows, w_gate, w_up)
    sigma = torch.sigmoid(gate)
    silu = gate * sigma
    dw_down = dy.t() @ (silu * up)
    dh = dy @ w_down.float()
    # silu' = σ + silu (1 − σ)
    dgate = torch.addcmul(sigma, silu, 1 - sigma).mul_(up).mul_(dh)
    dup = dh.mul_(silu)
    dx = dgate @ w_gate.float() + dup @ w_up.float()
    return dx.to(x.dtype), dgate.t() @ rows, dup.t() @ rows, dw_down


def _gate_and_up(rows, w_gate, w_up):
    return rows @ w_gate.float().t(), rows @ w_up.float().t()
