"""Grouped GEMM, backward. Two TODOs stand between this file and a correct gradient."""

import torch
import triton
import triton.language as tl


@triton.jit
def grad_input(
    dy_ptr,
    w_ptr,
    offsets_ptr,
    dx_ptr,
    N,
    K,
    dy_m,
    dy_n,
    w_e,
    w_k,
    w_n,
    BLOCK_M: tl.constexpr,
    BLOCK_K: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """dx = dy @ weight[e].T: a tile over (m, k) of one expert, summed over n."""
    e = tl.program_id(0).to(tl.int64)
    begin, end = tl.load(offsets_ptr + e), tl.load(offsets_ptr + e + 1)
    # TODO 1: this is each expert's first block of rows alone.
    m = (begin + tl.arange(0, BLOCK_M)).to(tl.int64)[:, None]
    k = (tl.program_id(1) * BLOCK_K + tl.arange(0, BLOCK_K)).to(tl.int64)
    total = tl.zeros((BLOCK_M, BLOCK_K), dtype=tl.float32)
    for start in range(0, N, BLOCK_N):
        n = (start + tl.arange(0, BLOCK_N))[None, :]
        dy = tl.load(dy_ptr + m * dy_m + n * dy_n, mask=(m < end) & (n < N), other=0.0)
        w_mask = (k[:, None] < K) & (n < N)
        w = tl.load(w_ptr + e * w_e + k[:, None] * w_k + n * w_n, mask=w_mask, other=0.0)
        total = tl.dot(dy, tl.trans(w), total)
    mask = (m < end) & (k[None, :] < K)
    tl.store(dx_ptr + m * K + k[None, :], total.to(dx_ptr.dtype.element_ty), mask=mask)


@triton.jit
def grad_weight(
    dy_ptr,
    x_ptr,
    offsets_ptr,
    dw_ptr,
    N,
    K,
    dy_m,
    dy_n,
    x_m,
    x_k,
    BLOCK_M: tl.constexpr,
    BLOCK_K: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """dweight[e] = x.T @ dy: a tile over (k, n) of one expert, summed over its rows."""
    e = tl.program_id(0).to(tl.int64)
    begin, end = tl.load(offsets_ptr + e), tl.load(offsets_ptr + e + 1)
    k = (tl.program_id(1) * BLOCK_K + tl.arange(0, BLOCK_K)).to(tl.int64)
    n = (tl.program_id(2) * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)
    # TODO 2: and so is this. Loop from begin to end; an expert without rows still gets its zeros.
    m = (begin + tl.arange(0, BLOCK_M)).to(tl.int64)[:, None]
    x_mask, dy_mask = (m < end) & (k[None, :] < K), (m < end) & (n[None, :] < N)
    x = tl.load(x_ptr + m * x_m + k[None, :] * x_k, mask=x_mask, other=0.0)
    dy = tl.load(dy_ptr + m * dy_m + n[None, :] * dy_n, mask=dy_mask, other=0.0)
    total = tl.dot(tl.trans(x), dy)
    at = dw_ptr + (e * K + k)[:, None] * N + n[None, :]
    tl.store(at, total, mask=(k[:, None] < K) & (n[None, :] < N))


def backward(grad_output, x, weight, offsets, dweight_buffer):
    """Gradients of y[rows] = x[rows] @ weight[e] for the rows of each expert e.

    grad_output     (M, N) bfloat16, any strides: the gradient of the loss with respect to y
    x               (M, K) bfloat16, any strides
    weight          (E, K, N) bfloat16, any strides
    offsets         (E + 1,) int32: expert e owns the rows from offsets[e] to offsets[e + 1] - 1
    dweight_buffer  None, or (E, K, N) float32 with an earlier gradient: add dweight to it and return it

    Returns dx (M, K) bfloat16 and dweight (E, K, N) float32.
    """
    E, K, N = weight.shape
    dx = torch.zeros(x.shape, dtype=x.dtype, device=x.device)  # rows of no expert stay zero
    dweight = torch.empty((E, K, N), dtype=torch.float32, device=x.device)
    blocks = {"BLOCK_M": 16, "BLOCK_K": 64, "BLOCK_N": 64}
    dy_strides = grad_output.stride()
    grad_input[(E, triton.cdiv(K, 64))](
        grad_output, weight, offsets, dx, N, K, *dy_strides, *weight.stride(), **blocks
    )
    grad_weight[(E, triton.cdiv(K, 64), triton.cdiv(N, 64))](
        grad_output, x, offsets, dweight, N, K, *dy_strides, *x.stride(), **blocks
    )
    # Right, but a pass over both: grad_weight could add where it stores.
    if dweight_buffer is not None:
        dweight = dweight_buffer.add_(dweight)
    return dx, dweight
