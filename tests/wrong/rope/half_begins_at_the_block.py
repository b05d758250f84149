# expect: wrong_gradient
"""Takes the second half to begin at the block's width, which is P only where P is a power of two."""

import torch
import triton
import triton.language as tl


@triton.jit
def _head(dy_ptr, cos_ptr, sin_ptr, dx_ptr, H, P, BLOCK_P: tl.constexpr):
    token = tl.program_id(0) // H
    pairs = tl.arange(0, BLOCK_P)
    inside = pairs < P
    c = tl.load(cos_ptr + token * P + pairs, mask=inside, other=0.0)
    s = tl.load(sin_ptr + token * P + pairs, mask=inside, other=0.0)
    at = tl.program_id(0) * 2 * P + pairs
    in_second = inside & (pairs + BLOCK_P < 2 * P)
    first = tl.load(dy_ptr + at, mask=inside, other=0.0).to(tl.float32)
    second = tl.load(dy_ptr + at + BLOCK_P, mask=in_second, other=0.0).to(tl.float32)
    dtype = dx_ptr.dtype.element_ty
    tl.store(dx_ptr + at, (first * c + second * s).to(dtype), mask=inside)
    tl.store(dx_ptr + at + BLOCK_P, (second * c - first * s).to(dtype), mask=in_second)


def backward(grad_output, cos, sin):
    M, H, width = grad_output.shape
    dx = torch.zeros((M, H, width), dtype=grad_output.dtype)
    P = width // 2
    dy, c, s = grad_output.contiguous(), cos.contiguous(), sin.contiguous()
    _head[(M * H,)](dy, c, s, dx, H, P, BLOCK_P=triton.next_power_of_2(P))
    return dx
