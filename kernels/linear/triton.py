"""Linear backward in Triton: two tiled matrix products, and a bias gradient that costs no extra read.

    y = x Wᵀ + b,     x (M, K),  W (N, K),  b (N),  dy (M, N)

    dx = dy W         (M, K)   contracts over N, the output features
    dW = dyᵀ x        (N, K)   contracts over M, the batch
    db = Σ_m dy       (N)      reduces over M, from the very tiles that dW loads

M, the number of tokens, is the long dimension, and for a small W it is the only one with parallelism
left. So the batch is split, each part adds up its own float32 partial, and a second kernel sums the
partials in a fixed order: no atomics, the same bits every time.

Whichever kernel stores dW last also adds it to the buffer that training accumulates in, if there is
one: a tile is read on its way out, and no pass of its own is needed.
"""

import torch
import triton
import triton.language as tl

BLOCK = 128  # tile of a gradient: BLOCK × BLOCK accumulators in float32
BLOCK_CONTRACTED = 64  # step along the contracted dimension
ROWS_PER_SPLIT = 512  # fewer rows in a part do not pay for writing and reading its partial
WANTED_PROGRAMS = 256  # about two for each of the 132 multiprocessors of an H100 or H200


@triton.jit
def grad_input_kernel(
    grad_output_ptr,
    weight_ptr,
    dx_ptr,
    M,
    N,
    K,
    grad_output_stride_m,
    grad_output_stride_n,
    weight_stride_n,
    weight_stride_k,
    BLOCK_M: tl.constexpr,
    BLOCK_K: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """One program: a BLOCK_M × BLOCK_K tile of dx = dy W, stepping over N."""
    blocks_k = tl.cdiv(K, BLOCK_K)
    m = ((tl.program_id(0) // blocks_k) * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    k = ((tl.program_id(0) % blocks_k) * BLOCK_K + tl.arange(0, BLOCK_K)).to(tl.int64)
    total = tl.zeros((BLOCK_M, BLOCK_K), dtype=tl.float32)
    for start in range(0, N, BLOCK_N):
        n = (start + tl.arange(0, BLOCK_N)).to(tl.int64)
        # The mask along n is what keeps the sum right: a lane past the end must add zero.
        dy = tl.load(
            grad_output_ptr + m[:, None] * grad_output_stride_m + n[None, :] * grad_output_stride_n,
            mask=(m[:, None] < M) & (n[None, :] < N),
            other=0.0,
        )
        w = tl.load(
            weight_ptr + n[:, None] * weight_stride_n + k[None, :] * weight_stride_k,
            mask=(n[:, None] < N) & (k[None, :] < K),
            other=0.0,
        )
        total = tl.dot(dy, w, total)
    tl.store(
        dx_ptr + m[:, None] * K + k[None, :],
        total.to(dx_ptr.dtype.element_ty),
        mask=(m[:, None] < M) & (k[None, :] < K),
    )


@triton.jit
def grad_parameters_kernel(
    grad_output_ptr,
    x_ptr,
    weight_partial_ptr,
    bias_partial_ptr,
    M,
    N,
    K,
    rows_per_split,
    grad_output_stride_m,
    grad_output_stride_n,
    x_stride_m,
    x_stride_k,
    ACCUMULATE: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    BLOCK_M: tl.constexpr,
):
    """One program: a BLOCK_N × BLOCK_K tile of dyᵀ x over the rows of one part of the batch, added to
    what is there if ACCUMULATE.

    The programs at k = 0 see every element of dy once, so they also sum it for the bias.
    """
    blocks_k = tl.cdiv(K, BLOCK_K)
    block_k = tl.program_id(0) % blocks_k
    split = tl.program_id(1)
    n = ((tl.program_id(0) // blocks_k) * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)
    k = (block_k * BLOCK_K + tl.arange(0, BLOCK_K)).to(tl.int64)
    first_row = split * rows_per_split
    last_row = tl.minimum(first_row + rows_per_split, M)

    weight_total = tl.zeros((BLOCK_N, BLOCK_K), dtype=tl.float32)
    bias_total = tl.zeros((BLOCK_N,), dtype=tl.float32)
    for start in range(first_row, last_row, BLOCK_M):
        m = (start + tl.arange(0, BLOCK_M)).to(tl.int64)
        dy = tl.load(
            grad_output_ptr + m[:, None] * grad_output_stride_m + n[None, :] * grad_output_stride_n,
            mask=(m[:, None] < last_row) & (n[None, :] < N),
            other=0.0,
        )
        x = tl.load(
            x_ptr + m[:, None] * x_stride_m + k[None, :] * x_stride_k,
            mask=(m[:, None] < last_row) & (k[None, :] < K),
            other=0.0,
        )
        weight_total = tl.dot(tl.trans(dy), x, weight_total)
        if block_k == 0:
            bias_total += tl.sum(dy.to(tl.float32), axis=0)

    # Both partials stay float32: rounding them to bfloat16 would lose what cancels between parts.
    weight_offsets = (split * N + n).to(tl.int64)[:, None] * K + k[None, :]
    inside = (n[:, None] < N) & (k[None, :] < K)
    if ACCUMULATE:
        weight_total += tl.load(weight_partial_ptr + weight_offsets, mask=inside, other=0.0)
    tl.store(weight_partial_ptr + weight_offsets, weight_total, mask=inside)
    if block_k == 0:
        tl.store(bias_partial_ptr + split * N + n, bias_total, mask=n < N)


@triton.jit
def sum_partials_kernel(
    partial_ptr, total_ptr, size, splits, ACCUMULATE: tl.constexpr, BLOCK_SIZE: tl.constexpr
):
    """total[i] = Σ_s partial[s, i], always in the order of s, added to what is there if ACCUMULATE."""
    i = tl.program_id(0).to(tl.int64) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    total = tl.zeros((BLOCK_SIZE,), dtype=tl.float32)
    for split in range(splits):
        offset = tl.cast(split, tl.int64) * size
        total += tl.load(partial_ptr + offset + i, mask=i < size, other=0.0)
    if ACCUMULATE:
        total += tl.load(total_ptr + i, mask=i < size, other=0.0)
    tl.store(total_ptr + i, total, mask=i < size)


def sum_partials(partials, splits, buffer=None):
    """The sum of `splits` equal parts of the first dimension, added to `buffer` if that is given; free
    when there is only one part, which then lies in the buffer already."""
    if splits == 1:
        return partials
    shape = (partials.shape[0] // splits, *partials.shape[1:])
    total = buffer
    if buffer is None:
        total = torch.empty(shape, dtype=torch.float32, device=partials.device)
    size = total.numel()
    grid = (triton.cdiv(size, 4096),)
    sum_partials_kernel[grid](
        partials, total, size, splits, ACCUMULATE=buffer is not None, BLOCK_SIZE=4096
    )
    return total


def grad_input(grad_output, weight):
    (M, N), K = grad_output.shape, weight.shape[1]
    dx = torch.empty((M, K), dtype=grad_output.dtype, device=grad_output.device)
    grid = (triton.cdiv(M, BLOCK) * triton.cdiv(K, BLOCK),)
    grad_input_kernel[grid](
        grad_output,
        weight,
        dx,
        M,
        N,
        K,
        *grad_output.stride(),
        *weight.stride(),
        BLOCK_M=BLOCK,
        BLOCK_K=BLOCK,
        BLOCK_N=BLOCK_CONTRACTED,
        num_warps=8,
        num_stages=3,
    )
    return dx


def grad_parameters(grad_output, x, dweight_buffer):
    (M, N), K = grad_output.shape, x.shape[1]
    tiles = triton.cdiv(N, BLOCK) * triton.cdiv(K, BLOCK)
    splits = max(1, min(triton.cdiv(WANTED_PROGRAMS, tiles), triton.cdiv(M, ROWS_PER_SPLIT)))
    in_buffer = splits == 1 and dweight_buffer is not None
    if in_buffer:
        weight_partials = dweight_buffer
    else:
        weight_partials = torch.empty((splits * N, K), dtype=torch.float32, device=x.device)
    bias_partials = torch.empty((splits * N,), dtype=torch.float32, device=x.device)
    grad_parameters_kernel[(tiles, splits)](
        grad_output,
        x,
        weight_partials,
        bias_partials,
        M,
        N,
        K,
        triton.cdiv(M, splits),
        *grad_output.stride(),
        *x.stride(),
        ACCUMULATE=in_buffer,
        BLOCK_N=BLOCK,
        BLOCK_K=BLOCK,
        BLOCK_M=BLOCK_CONTRACTED,
        num_warps=8,
        num_stages=3,
    )
    dweight = sum_partials(weight_partials, splits, dweight_buffer)
    return dweight, sum_partials(bias_partials, splits)


def backward(grad_output, x, weight, dweight_buffer):
    """grad_output (M, N), x (M, K), weight (N, K): bfloat16, any strides. dweight_buffer: None, or
    (N, K) in float32, to which dweight is added.

    Returns dx (M, K) in bfloat16, dweight (N, K) and dbias (N) in float32.
    """
    dweight, dbias = grad_parameters(grad_output, x, dweight_buffer)
    return grad_input(grad_output, weight), dweight, dbias
