"""The arithmetic of a SwiGLU MLP, in whatever precision it is asked for.

Forward: Shazeer, GLU Variants Improve Transformer, 2020 (arXiv:2002.05202). The gradient is derived in
derivation.md.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F

from problems.pairs import Saved
from problems.spec import Gradients

T = torch.Tensor


def forward(x: T, w_gate: T, w_up: T, w_down: T) -> T:
    """`y = (silu(x w_gateᵀ) * x w_upᵀ) w_downᵀ`; x, y (M, D), w_gate, w_up (F, D), w_down (D, F)."""
    return (F.silu(x @ w_gate.t()) * (x @ w_up.t())) @ w_down.t()


def of_gate_and_up(gate: T, up: T, dh: T) -> tuple[T, T]:
    """dgate and dup from the gradient of h = silu(gate) * up."""
    sigma = torch.sigmoid(gate)
    silu = gate * sigma
    return dh * up * (sigma + silu * (1 - sigma)), dh * silu


def closed_form(grad_output: T, x: T, w_gate: T, w_up: T, w_down: T) -> Gradients:
    """dx, dw_gate, dw_up and dw_down, with gate and up computed from x."""
    gate, up = x @ w_gate.t(), x @ w_up.t()
    dgate, dup = of_gate_and_up(gate, up, grad_output @ w_down)
    dx = dgate @ w_gate + dup @ w_up
    h = F.silu(gate) * up
    return dx, dgate.t() @ x, dup.t() @ x, grad_output.t() @ h


def plain_forward(x: T, w_gate: T, w_up: T, w_down: T) -> tuple[T, Saved]:
    """y in x's dtype, every step a tensor of it; what autograd keeps of these steps is saved."""
    gate, up = F.linear(x, w_gate), F.linear(x, w_up)
    silu = F.silu(gate)
    h = silu * up
    return F.linear(h, w_down), (x, gate, up, silu, h)


def plain_backward(grad_output: T, saved: Saved, w_gate: T, w_up: T, w_down: T) -> Gradients:
    """Step by step back, in the dtype of x; gradients of weights are kept in float32."""
    x, gate, up, silu, h = saved
    dh = grad_output @ w_down
    dgate = torch.ops.aten.silu_backward(dh * up, gate)
    dup = dh * silu
    dx = dgate @ w_gate + dup @ w_up
    dweights = (dgate, x), (dup, x), (grad_output, h)
    return dx, *(product_in_float32(a.t(), b) for a, b in dweights)


def product_in_float32(a: T, b: T) -> T:
    """`a @ b` of bfloat16 matrices, not rounded below float32."""
    if a.is_cuda:  # tensor cores add in float32 anyway; this keeps what they added
        return torch.mm(a, b, out_dtype=torch.float32)
    return a.float() @ b.float()
