"""Layer norm, backward. Two TODOs stand between this file and a correct gradient."""

import torch
import triton
import triton.language as tl


@triton.jit
def layer_norm_backward(
    dy_ptr,
    x_ptr,
    w_ptr,
    mean_ptr,
    rstd_ptr,
    dx_ptr,
    dw_ptr,
    db_ptr,
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
    mean = tl.load(mean_ptr + row)
    rstd = tl.load(rstd_ptr + row)

    x_hat = (x - mean) * rstd
    # TODO 1: mean and rstd depend on the whole row, so dx has two more terms.
    dx = rstd * dy * w
    tl.store(dx_ptr + row * N + cols, dx.to(dx_ptr.dtype.element_ty), mask=inside)

    # TODO 2: dweight and dbias are sums over all rows. So far they hold the share of row 0 alone.
    if row == 0:
        tl.store(dw_ptr + cols, dy * x_hat, mask=inside)
        tl.store(db_ptr + cols, dy, mask=inside)


def backward(grad_output, x, weight, mean, rstd):
    """Gradients of y = (x - mean) * rstd * weight + bias, where mean and rstd are those of each row.

    grad_output  (M, N) bfloat16, any strides: the gradient of the loss with respect to y
    x            (M, N) bfloat16, any strides
    weight       (N,)   bfloat16
    mean         (M,)   float32, saved by forward
    rstd         (M,)   float32, saved by forward: 1 / sqrt(variance + eps)

    Returns dx (M, N) bfloat16, dweight (N,) float32 and dbias (N,) float32.
    """
    M, N = x.shape
    dx = torch.empty((M, N), dtype=x.dtype, device=x.device)
    dweight = torch.empty((N,), dtype=torch.float32, device=x.device)
    dbias = torch.empty((N,), dtype=torch.float32, device=x.device)
    layer_norm_backward[(M,)](
        grad_output,
        x,
        weight,
        mean,
        rstd,
        dx,
        dweight,
        dbias,
        N,
        *grad_output.stride(),
        *x.stride(),
        BLOCK_N=triton.next_power_of_2(N),
    )
    return dx, dweight, dbias
