"""The SwiGLU MLP, forward and backward. One TODO stands between this file and correct gradients."""

import torch
import triton
import triton.language as tl


@triton.jit
def gate_backward(dh_ptr, gate_ptr, up_ptr, dgate_ptr, dup_ptr, h_ptr, COUNT, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < COUNT
    dh = tl.load(dh_ptr + at, mask=inside, other=0.0)
    gate = tl.load(gate_ptr + at, mask=inside, other=0.0).to(tl.float32)
    up = tl.load(up_ptr + at, mask=inside, other=0.0).to(tl.float32)
    sigma = tl.sigmoid(gate)
    # TODO: this takes the sigmoid for constant; gate * sigmoid(gate) has another term.
    tl.store(dgate_ptr + at, dh * up * sigma, mask=inside)
    tl.store(dup_ptr + at, dh * gate * sigma, mask=inside)
    tl.store(h_ptr + at, gate * sigma * up, mask=inside)


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
    y = (torch.nn.functional.silu(gate) * up) @ w_down.float().t()
    # Three matrices, two of them wide. Can backward do with less?
    return y.to(x.dtype), (x, gate.to(x.dtype), up.to(x.dtype))


def backward(grad_output, saved, w_gate, w_up, w_down):
    """The gradients of forward, in another process: nothing of it is here but what it saved.

    grad_output  (M, D) bfloat16, any strides: the gradient of the loss with respect to y
    saved        (a tuple) what forward returned beside y, contiguous

    Returns dx (M, D) bfloat16, and in float32 dw_gate and dw_up (F, D) and dw_down (D, F).
    """
    x, gate, up = saved
    dy = grad_output.float()
    dh = dy @ w_down.float()
    dgate, dup, h = (torch.empty_like(dh) for _ in range(3))
    # The products around this kernel are PyTorch's; replace them one by one.
    BLOCK = 1024
    programs = triton.cdiv(dh.numel(), BLOCK)
    gate_backward[(programs,)](dh, gate, up, dgate, dup, h, dh.numel(), BLOCK=BLOCK)
    dx = dgate @ w_gate.float() + dup @ w_up.float()
    return dx.to(grad_output.dtype), dgate.t() @ x.float(), dup.t() @ x.float(), dy.t() @ h
