"""RMSNorm, backward. Two TODOs stand between this file and a correct gradient."""

import torch
import triton
import triton.language as tl


@triton.jit
def rms_norm_backward(
    dy_ptr,
    x_ptr,
    w_ptr,
    rstd_ptr,
    dx_ptr,
    dw_ptr,
    N,
    dy_row,
    dy_col,
    x_row,
    x_col,
    BLOCK_N: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_N)
    inside = cols < N

    # bfloat16 is for memory; compute in float32.
    dy = tl.load(dy_ptr + row * dy_row + cols * dy_col, mask=inside, other=0.0).to(tl.float32)
    x = tl.load(x_ptr + row * x_row + cols * x_col, mask=inside, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + cols, mask=inside, other=0.0).to(tl.float32)
    rstd = tl.load(rstd_ptr + row)

    x_hat = x * rstd
    # TODO 1: rstd depends on the whole row, so dx has a second term.
    dx = rstd * dy * w
    tl.store(dx_ptr + row * N + cols, dx.to(dx_ptr.dtype.element_ty), mask=inside)

    # TODO 2: dweight is a sum over all rows. So far it holds the share of row 0 alone.
    if row == 0:
        tl.store(dw_ptr + cols, dy * x_hat, mask=inside)


def backward(grad_output, x, weight, rstd):
    """Gradients of y = x * rstd * weight, where rstd[i] = 1 / sqrt(mean(x[i] ** 2) + eps).

    grad_output  (M, N) bfloat16, any strides: the gradient of the loss with respect to y
    x            (M, N) bfloat16, any strides
    weight       (N,)   bfloat16
    rstd         (M,)   float32, saved by forward

    Returns dx (M, N) bfloat16 and dweight (N,) float32.
    """
    M, N = x.shape
    dx = torch.empty((M, N), dtype=x.dtype, device=x.device)
    dweight = torch.empty((N,), dtype=torch.float32, device=x.device)
    rms_norm_backward[(M,)](
        grad_output,
        x,
        weight,
        rstd,
        dx,
        dweight,
        N,
        *grad_output.stride(),
        *x.stride(),
        BLOCK_N=triton.next_power_of_2(N),
    )
    return dx, dweight
