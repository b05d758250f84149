# problem: relu_squared
# language: triton
# must: wrong_gradient
"""Strategy: Launch a grid that covers the first row only; the rest is memory that was never
  written.
Surface: the grid
Stopped by: every case has more rows, and outputs are compared whole.
Listed as: C36 partial/failed launch; C28 stale memory
"""

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(g_ptr, x_ptr, dx_ptr, N, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    g = tl.load(g_ptr + at, mask=at < N, other=0.0).to(tl.float32)
    x = tl.load(x_ptr + at, mask=at < N, other=0.0).to(tl.float32)
    tl.store(dx_ptr + at, (2 * g * tl.maximum(x, 0.0)).to(tl.bfloat16), mask=at < N)


def backward(grad_output, x):
    g, x = grad_output.contiguous(), x.contiguous()
    dx = torch.empty_like(x)
    kernel[(triton.cdiv(x.shape[1], 128),)](g, x, dx, x.shape[1], BLOCK=128)
    return dx
