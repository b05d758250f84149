"""Rotary embedding, backward: one program for a token, which reads its angles once for all heads.

See notes.md for the way here from the derivation.
"""

import torch
import triton
import triton.language as tl

TILE = 1024  # pairs of a tile: 16 bytes a thread from each half of the heads


@triton.jit
def _token(
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
    BLOCK_H: tl.constexpr,
    BLOCK_P: tl.constexpr,
):
    """dx for every head of one token, BLOCK_H heads at a time."""
    # 64-bit: M × H × 2P may exceed 2³¹ elements, and so may an index times a stride.
    token = tl.program_id(0).to(tl.int64)
    pairs = tl.arange(0, BLOCK_P).to(tl.int64)
    in_head = pairs < P
    at_cos = cos_ptr + token * cos_token + pairs * cos_col
    at_sin = sin_ptr + token * sin_token + pairs * sin_col
    c = tl.load(at_cos, mask=in_head, other=0.0)[None, :]
    s = tl.load(at_sin, mask=in_head, other=0.0)[None, :]

    for start in range(0, H, BLOCK_H):
        heads = (start + tl.arange(0, BLOCK_H)).to(tl.int64)[:, None]
        inside = (heads < H) & in_head[None, :]
        at_dy = dy_ptr + token * dy_token + heads * dy_head + pairs[None, :] * dy_col
        first = tl.load(at_dy, mask=inside, other=0.0).to(tl.float32)
        second = tl.load(at_dy + P * dy_col, mask=inside, other=0.0).to(tl.float32)

        at_dx = dx_ptr + (token * H + heads) * 2 * P + pairs[None, :]
        dtype = dx_ptr.dtype.element_ty
        tl.store(at_dx, (first * c + second * s).to(dtype), mask=inside)
        tl.store(at_dx + P, (second * c - first * s).to(dtype), mask=inside)


def backward(grad_output, cos, sin):
    """dx (M, H, 2P) in grad_output's dtype; any strides of all three."""
    M, H, width = grad_output.shape
    P = width // 2
    dx = torch.empty((M, H, width), dtype=grad_output.dtype, device=grad_output.device)
    BLOCK_P = triton.next_power_of_2(P)
    BLOCK_H = max(1, min(TILE // BLOCK_P, triton.next_power_of_2(H)))
    _token[(M,)](
        grad_output,
        cos,
        sin,
        dx,
        H,
        P,
        *grad_output.stride(),
        *cos.stride(),
        *sin.stride(),
        BLOCK_H=BLOCK_H,
        BLOCK_P=BLOCK_P,
        num_warps=4,
    )
    return dx
