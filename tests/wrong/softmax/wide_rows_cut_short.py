# expect: wrong_gradient
"""One block of at most 4096 columns for each row: what lies beyond is neither summed nor stored."""

import torch
import triton
import triton.language as tl


@triton.jit
def _row(dy_ptr, y_ptr, dx_ptr, N, dy_row, dy_col, y_row, y_col, BLOCK_N: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_N)
    inside = cols < N
    dy = tl.load(dy_ptr + row * dy_row + cols * dy_col, mask=inside, other=0.0).to(tl.float32)
    y = tl.load(y_ptr + row * y_row + cols * y_col, mask=inside, other=0.0).to(tl.float32)
    dx = y * (dy - tl.sum(dy * y, axis=0))
    tl.store(dx_ptr + row * N + cols, dx.to(dx_ptr.dtype.element_ty), mask=inside)


def backward(grad_output, y):
    M, N = y.shape
    dx = torch.zeros((M, N), dtype=y.dtype)
    width = min(triton.next_power_of_2(N), 4096)
    _row[(M,)](grad_output, y, dx, N, *grad_output.stride(), *y.stride(), BLOCK_N=width)
    return dx
