"""Linear layer, backward. Two TODOs stand between this file and a correct gradient."""

import torch
import triton
import triton.language as tl


@triton.jit
def grad_input(
    dy_ptr,
    w_ptr,
    dx_ptr,
    M,
    N,
    K,
    dy_m,
    dy_n,
    w_n,
    w_k,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """dx = dy @ weight: a tile over (m, k), summed over n."""
    m = (tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)[:, None]
    k = (tl.program_id(1) * BLOCK_K + tl.arange(0, BLOCK_K)).to(tl.int64)[None, :]
    total = tl.zeros((BLOCK_M, BLOCK_K), dtype=tl.float32)
    for start in range(0, N, BLOCK_N):
        n = start + tl.arange(0, BLOCK_N)
        # Lanes beyond N must add zero, so the masks cover the summed axis too.
        dy_mask = (m < M) & (n[None, :] < N)
        w_mask = (n[:, None] < N) & (k < K)
        dy = tl.load(dy_ptr + m * dy_m + n[None, :] * dy_n, mask=dy_mask, other=0.0)
        w = tl.load(w_ptr + n[:, None] * w_n + k * w_k, mask=w_mask, other=0.0)
        total = tl.dot(dy, w, total)
    tl.store(dx_ptr + m * K + k, total.to(dx_ptr.dtype.element_ty), mask=(m < M) & (k < K))


@triton.jit
def grad_weight(
    dy_ptr,
    x_ptr,
    dw_ptr,
    M,
    N,
    K,
    dy_m,
    dy_n,
    x_m,
    x_k,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """dweight = dy.T @ x: a tile over (n, k), summed over m."""
    n = (tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)
    k = (tl.program_id(1) * BLOCK_K + tl.arange(0, BLOCK_K)).to(tl.int64)[None, :]
    m = tl.arange(0, BLOCK_M).to(tl.int64)[:, None]
    # TODO 1: this is the first block of rows alone. Loop over the whole batch.
    dy_mask = (m < M) & (n[None, :] < N)
    dy = tl.load(dy_ptr + m * dy_m + n[None, :] * dy_n, mask=dy_mask, other=0.0)
    x = tl.load(x_ptr + m * x_m + k * x_k, mask=(m < M) & (k < K), other=0.0)
    total = tl.dot(tl.trans(dy), x)
    tl.store(dw_ptr + n[:, None] * K + k, total, mask=(n[:, None] < N) & (k < K))


def backward(grad_output, x, weight, dweight_buffer):
    """Gradients of y = x @ weight.T + bias.

    grad_output     (M, N) bfloat16, any strides: the gradient of the loss with respect to y
    x               (M, K) bfloat16, any strides
    weight          (N, K) bfloat16, any strides
    dweight_buffer  None, or (N, K) float32 with an earlier gradient: add dweight to it and return it

    Returns dx (M, K) bfloat16, dweight (N, K) float32 and dbias (N,) float32.
    """
    (M, N), K = grad_output.shape, x.shape[1]
    dx = torch.empty((M, K), dtype=x.dtype, device=x.device)
    dweight = torch.empty((N, K), dtype=torch.float32, device=x.device)
    # TODO 2: sum grad_output over the rows; grad_weight has its tiles at hand.
    dbias = torch.zeros((N,), dtype=torch.float32, device=x.device)

    blocks = {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 64}
    grad_input[(triton.cdiv(M, 64), triton.cdiv(K, 64))](
        grad_output,
        weight,
        dx,
        M,
        N,
        K,
        *grad_output.stride(),
        *weight.stride(),
        **blocks,
    )
    grad_weight[(triton.cdiv(N, 64), triton.cdiv(K, 64))](
        grad_output,
        x,
        dweight,
        M,
        N,
        K,
        *grad_output.stride(),
        *x.stride(),
        **blocks,
    )
    # Right, but a pass over both: grad_weight could add where it stores.
    if dweight_buffer is not None:
        dweight = dweight_buffer.add_(dweight)
    return dx, dweight, dbias
