"""Softmax, backward. One TODO stands between this file and a correct gradient."""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_backward(dy_ptr, y_ptr, dx_ptr, N, dy_row, dy_col, y_row, y_col, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_N)
    inside = cols < N

    # bfloat16 is for memory; compute in float32.
    dy = tl.load(dy_ptr + row * dy_row + cols * dy_col, mask=inside, other=0.0).to(tl.float32)
    y = tl.load(y_ptr + row * y_row + cols * y_col, mask=inside, other=0.0).to(tl.float32)

    # TODO: every output of a row depends on every input of it. Here each depends on its own alone.
    dx = dy * y
    tl.store(dx_ptr + row * N + cols, dx.to(dx_ptr.dtype.element_ty), mask=inside)


def backward(grad_output, y):
    """Gradient of y = softmax(x) along the rows.

    grad_output  (M, N) bfloat16, any strides: the gradient of the loss with respect to y
    y            (M, N) bfloat16, any strides: what forward returned

    Returns dx (M, N) bfloat16.
    """
    M, N = y.shape
    dx = torch.empty((M, N), dtype=y.dtype, device=y.device)
    softmax_backward[(M,)](
        grad_output,
        y,
        dx,
        N,
        *grad_output.stride(),
        *y.stride(),
        BLOCK_N=triton.next_power_of_2(N),
    )
    return dx
