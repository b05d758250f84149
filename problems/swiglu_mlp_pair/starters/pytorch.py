"""The SwiGLU MLP, forward and backward. One TODO stands between this file and correct gradients."""

import torch
import torch.nn.functional as F


def forward(x, w_gate, w_up, w_down):
    """The output y = (silu(x w_gateᵀ) * (x w_upᵀ)) w_downᵀ, and what to save.

    x            (M, D) bfloat16, any strides
    w_gate       (F, D) bfloat16, any strides
    w_up         (F, D) bfloat16, any strides
    w_down       (D, F) bfloat16, any strides

    Returns y (M, D) bfloat16 and a tuple of tensors, whose bytes are measured and ranked.
    """
    gate = x.float() @ w_gate.float().t()
    up = x.float() @ w_up.float().t()
    y = (F.silu(gate) * up) @ w_down.float().t()
    # Three matrices, two of them wide. Can backward do with less?
    return y.to(x.dtype), (x, gate.to(x.dtype), up.to(x.dtype))


def backward(grad_output, saved, w_gate, w_up, w_down):
    """The gradients of forward, in another process: nothing of it is here but what it saved.

    grad_output  (M, D) bfloat16, any strides: the gradient of the loss with respect to y
    saved        (a tuple) what forward returned beside y, contiguous

    Returns dx (M, D) bfloat16, and in float32 dw_gate and dw_up (F, D) and dw_down (D, F).
    """
    x, gate, up = (t.float() for t in saved)
    dy = grad_output.float()
    dh = dy @ w_down.float()
    sigma = torch.sigmoid(gate)
    # TODO: this takes the sigmoid for constant; gate * sigmoid(gate) has another term.
    dgate = dh * up * sigma
    dup = dh * gate * sigma
    dx = dgate @ w_gate.float() + dup @ w_up.float()
    dw_down = dy.t() @ (gate * sigma * up)
    return dx.to(grad_output.dtype), dgate.t() @ x, dup.t() @ x, dw_down
