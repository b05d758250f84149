"""Squared ReLU, backward. One TODO stands between this file and a correct gradient."""

import torch
import triton
import triton.language as tl


@triton.jit
def relu_squared_backward(
    dy_ptr,
    x_ptr,
    dx_ptr,
    M,
    N,
    dy_row,
    dy_col,
    x_row,
    x_col,
    BLOCK: tl.constexpr,
):
    # Elements are numbered row by row; this program computes BLOCK of them.
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = i < M * N
    row = i // N
    col = i % N

    # bfloat16 is for memory; compute in float32.
    dy = tl.load(dy_ptr + row * dy_row + col * dy_col, mask=inside, other=0.0).to(tl.float32)
    x = tl.load(x_ptr + row * x_row + col * x_col, mask=inside, other=0.0).to(tl.float32)

    # TODO: this is the gradient of relu(x), not yet of relu(x) ** 2.
    dx = tl.where(x > 0, dy, 0.0)
    tl.store(dx_ptr + i, dx.to(dx_ptr.dtype.element_ty), mask=inside)


def backward(grad_output, x):
    """The gradient of y = relu(x) ** 2.

    grad_output  (M, N) bfloat16, any strides: the gradient of the loss with respect to y
    x            (M, N) bfloat16, any strides

    Returns dx (M, N) bfloat16.
    """
    M, N = x.shape
    dx = torch.empty((M, N), dtype=x.dtype, device=x.device)
    BLOCK = 1024
    relu_squared_backward[(triton.cdiv(M * N, BLOCK),)](
        grad_output,
        x,
        dx,
        M,
        N,
        *grad_output.stride(),
        *x.stride(),
        BLOCK=BLOCK,
    )
    return dx
