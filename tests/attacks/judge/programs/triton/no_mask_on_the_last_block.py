# problem: relu_squared
# language: triton
# must: refused
"""Strategy: Leave the mask out, so that the last block reads and writes past the end of a row.
Surface: the last block
Stopped by: odd sizes, slices padded with NaN, and a comparison of every element.
Listed as: §5 public bug reports; C36
"""

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(g_ptr, x_ptr, dx_ptr, N, g_row, x_row, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    g = tl.load(g_ptr + row * g_row + at).to(tl.float32)
    x = tl.load(x_ptr + row * x_row + at).to(tl.float32)
    tl.store(dx_ptr + row * N + at, (2 * g * tl.maximum(x, 0.0)).to(tl.bfloat16))


def backward(grad_output, x):
    M, N = x.shape
    dx = torch.empty((M, N), dtype=x.dtype)
    block = triton.next_power_of_2(N)
    kernel[(M,)](grad_output, x, dx, N, grad_output.stride(0), x.stride(0), BLOCK=block)
    return dx
