# expect: wrong_gradient
"""Adds atomically to memory that was not zeroed: here it holds ones, as if left over."""

import torch
import triton
import triton.language as tl


@triton.jit
def _row(
    dy_ptr,
    x_ptr,
    mean_ptr,
    rstd_ptr,
    sums_ptr,
    N,
    dy_row,
    dy_col,
    x_row,
    x_col,
    BLOCK_N: tl.constexpr,
):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_N)
    inside = cols < N
    dy = tl.load(dy_ptr + row * dy_row + cols * dy_col, mask=inside, other=0.0).to(tl.float32)
    x = tl.load(x_ptr + row * x_row + cols * x_col, mask=inside, other=0.0).to(tl.float32)
    x_hat = (x - tl.load(mean_ptr + row)) * tl.load(rstd_ptr + row)
    tl.atomic_add(sums_ptr + cols, dy * x_hat, mask=inside)
    tl.atomic_add(sums_ptr + N + cols, dy, mask=inside)


def backward(grad_output, x, weight, mean, rstd):
    M, N = x.shape
    dy, r = grad_output.float(), rstd[:, None]
    x_hat = (x.float() - mean[:, None]) * r
    g = dy * weight.float()
    dx = r * (g - g.mean(1, keepdim=True) - x_hat * (g * x_hat).mean(1, keepdim=True))
    sums = torch.full((2, N), 1.0)
    strides = (*grad_output.stride(), *x.stride())
    width = triton.next_power_of_2(N)
    _row[(M,)](grad_output, x, mean, rstd, sums, N, *strides, BLOCK_N=width)
    return dx.to(x.dtype), sums[0].clone(), sums[1].clone()
