"""Rotary embedding, backward. One TODO stands between this file and a correct gradient."""

import torch
import triton
import triton.language as tl


@triton.jit
def rope_backward(
    dy_ptr,
    cos_ptr,
    sin_ptr,
    dx_ptr,
    H,
    P,
    dy_token,
    dy_head,
    dy_col,
    cos_token,
    cos_col,
    sin_token,
    sin_col,
    BLOCK_P: tl.constexpr,
):
    # One program for each head of each token.
    token = (tl.program_id(0) // H).to(tl.int64)
    head = tl.program_id(0) % H
    pairs = tl.arange(0, BLOCK_P)
    inside = pairs < P

    c = tl.load(cos_ptr + token * cos_token + pairs * cos_col, mask=inside, other=0.0)
    s = tl.load(sin_ptr + token * sin_token + pairs * sin_col, mask=inside, other=0.0)
    # bfloat16 is for memory; compute in float32.
    at_dy = dy_ptr + token * dy_token + head * dy_head + pairs * dy_col
    first = tl.load(at_dy, mask=inside, other=0.0).to(tl.float32)
    second = tl.load(at_dy + P * dy_col, mask=inside, other=0.0).to(tl.float32)

    # TODO: this is the rotation of forward. Which way does its gradient turn?
    new_first = first * c - second * s
    new_second = second * c + first * s

    at_dx = dx_ptr + (token * H + head) * 2 * P + pairs
    tl.store(at_dx, new_first.to(dx_ptr.dtype.element_ty), mask=inside)
    tl.store(at_dx + P, new_second.to(dx_ptr.dtype.element_ty), mask=inside)


def backward(grad_output, cos, sin):
    """Gradient of y = rotate(x), which turns elements p and p + P of each head by the token's angle p.

    grad_output  (M, H, 2P) bfloat16, any strides: the gradient of the loss with respect to y
    cos          (M, P)     float32, any strides: one row a token, for all of its heads
    sin          (M, P)     float32, any strides

    Returns dx (M, H, 2P) bfloat16.
    """
    M, H, width = grad_output.shape
    P = width // 2
    dx = torch.empty((M, H, width), dtype=grad_output.dtype, device=grad_output.device)
    rope_backward[(M * H,)](
        grad_output,
        cos,
        sin,
        dx,
        H,
        P,
        *grad_output.stride(),
        *cos.stride(),
        *sin.stride(),
        BLOCK_P=triton.next_power_of_2(P),
    )
    return dx
