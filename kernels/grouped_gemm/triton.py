"""Grouped matrix products, backward, in Triton: tiles are dealt out on the GPU, from the offsets alone.

    y_m = x_m W_e for the rows m of expert e,     x (M, K),  W (E, K, N),  dy (M, N)

    dx_m = dy_m W_eᵀ        (M, K)      contracts over N; as many tiles as the groups need
    dW_e = x_eᵀ dy_e        (E, K, N)   contracts over the rows of e, of which there may be none

How many rows an expert has is known on the GPU only, and asking for it would stop the CPU until all
work before is done. So grids are as large as any distribution may need, and each program finds out what
is its own. Rows after the last expert's are one more group, whose dx is zero.
"""

import torch
import triton
import triton.language as tl

BLOCK = 128  # tile of a gradient: BLOCK × BLOCK accumulators in float32
BLOCK_CONTRACTED = 64  # step along the contracted dimension


@triton.jit
def group_of_tile(offsets_ptr, tile, M, E, BLOCK_M: tl.constexpr, GROUPS: tl.constexpr):
    """The group that a tile of rows belongs to, the tile's first row and the group's end.

    Group E are the rows that belong to no expert. A tile beyond the last one has a group above E and no
    rows. Every group begins a tile of its own: none reaches into the next.
    """
    group = tl.arange(0, GROUPS)
    begin = tl.load(offsets_ptr + group, mask=group <= E, other=0)
    end = tl.load(offsets_ptr + group + 1, mask=group < E, other=0)
    end = tl.where(group == E, M, end)
    tiles = (end - begin + BLOCK_M - 1) // BLOCK_M
    until = tl.cumsum(tiles, axis=0)
    found = tl.sum((until <= tile).to(tl.int32), axis=0)
    mine = group == found
    first_row = tl.sum(tl.where(mine, begin + (tile - until + tiles) * BLOCK_M, 0), axis=0)
    return found, first_row, tl.sum(tl.where(mine, end, 0), axis=0)


@triton.jit
def grad_input_kernel(
    grad_output_ptr,
    weight_ptr,
    offsets_ptr,
    dx_ptr,
    M,
    N,
    K,
    E,
    grad_output_stride_m,
    grad_output_stride_n,
    weight_stride_e,
    weight_stride_k,
    weight_stride_n,
    BLOCK_M: tl.constexpr,
    BLOCK_K: tl.constexpr,
    BLOCK_N: tl.constexpr,
    GROUPS: tl.constexpr,
):
    """One program: a BLOCK_M × BLOCK_K tile of dx, whose rows are all one expert's, stepping over N."""
    blocks_k = tl.cdiv(K, BLOCK_K)
    tile = tl.program_id(0) // blocks_k
    group, first_row, end = group_of_tile(offsets_ptr, tile, M, E, BLOCK_M, GROUPS)
    m = (first_row + tl.arange(0, BLOCK_M)).to(tl.int64)
    k = ((tl.program_id(0) % blocks_k) * BLOCK_K + tl.arange(0, BLOCK_K)).to(tl.int64)
    weight_ptr += group.to(tl.int64) * weight_stride_e
    total = tl.zeros((BLOCK_M, BLOCK_K), dtype=tl.float32)
    # Rows of no expert are not read, whatever they hold: their sum has no terms.
    for start in range(0, tl.where(group < E, N, 0), BLOCK_N):
        n = (start + tl.arange(0, BLOCK_N)).to(tl.int64)
        dy = tl.load(
            grad_output_ptr + m[:, None] * grad_output_stride_m + n[None, :] * grad_output_stride_n,
            mask=(m[:, None] < end) & (n[None, :] < N),
            other=0.0,
        )
        w = tl.load(
            weight_ptr + k[:, None] * weight_stride_k + n[None, :] * weight_stride_n,
            mask=(k[:, None] < K) & (n[None, :] < N),
            other=0.0,
        )
        total = tl.dot(dy, tl.trans(w), total)
    tl.store(
        dx_ptr + m[:, None] * K + k[None, :],
        total.to(dx_ptr.dtype.element_ty),
        mask=(m[:, None] < end) & (k[None, :] < K),
    )


@triton.jit
def grad_weight_kernel(
    grad_output_ptr,
    x_ptr,
    offsets_ptr,
    order_ptr,
    dweight_ptr,
    N,
    K,
    grad_output_stride_m,
    grad_output_stride_n,
    x_stride_m,
    x_stride_k,
    ACCUMULATE: tl.constexpr,
    BLOCK_K: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_M: tl.constexpr,
):
    """One program: a BLOCK_K × BLOCK_N tile of one expert's dW, stepping over its rows; added to what is
    there if ACCUMULATE. An expert without rows gets zeros, or keeps what it has."""
    blocks_n = tl.cdiv(N, BLOCK_N)
    expert = tl.load(order_ptr + tl.program_id(1)).to(tl.int64)
    k = ((tl.program_id(0) // blocks_n) * BLOCK_K + tl.arange(0, BLOCK_K)).to(tl.int64)
    n = ((tl.program_id(0) % blocks_n) * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)
    begin = tl.load(offsets_ptr + expert)
    end = tl.load(offsets_ptr + expert + 1)
    total = tl.zeros((BLOCK_K, BLOCK_N), dtype=tl.float32)
    for start in range(begin, end, BLOCK_M):
        m = (start + tl.arange(0, BLOCK_M)).to(tl.int64)
        # The mask ends with the expert: the rows beyond are another one's, or hold anything.
        x = tl.load(
            x_ptr + m[:, None] * x_stride_m + k[None, :] * x_stride_k,
            mask=(m[:, None] < end) & (k[None, :] < K),
            other=0.0,
        )
        dy = tl.load(
            grad_output_ptr + m[:, None] * grad_output_stride_m + n[None, :] * grad_output_stride_n,
            mask=(m[:, None] < end) & (n[None, :] < N),
            other=0.0,
        )
        total = tl.dot(tl.trans(x), dy, total)
    tile = dweight_ptr + (expert * K + k)[:, None] * N + n[None, :]
    inside = (k[:, None] < K) & (n[None, :] < N)
    if ACCUMULATE:
        inside &= begin < end
        total += tl.load(tile, mask=inside, other=0.0)
    tl.store(tile, total, mask=inside)


def grad_input(grad_output, weight, offsets):
    (M, N), (E, K) = grad_output.shape, weight.shape[:2]
    dx = torch.empty((M, K), dtype=grad_output.dtype, device=grad_output.device)
    # A group ends inside a tile at most once, so E more tiles than whole ones are enough.
    tiles = (triton.cdiv(M, BLOCK) + E) * triton.cdiv(K, BLOCK)
    grad_input_kernel[(tiles,)](
        grad_output,
        weight,
        offsets,
        dx,
        M,
        N,
        K,
        E,
        *grad_output.stride(),
        *weight.stride(),
        BLOCK_M=BLOCK,
        BLOCK_K=BLOCK,
        BLOCK_N=BLOCK_CONTRACTED,
        GROUPS=triton.next_power_of_2(E + 1),
        num_warps=8,
        num_stages=3,
    )
    return dx


def grad_weight(grad_output, x, offsets, dweight_buffer):
    N, K, E = grad_output.shape[1], x.shape[1], offsets.shape[0] - 1
    dweight = dweight_buffer
    if dweight is None:
        dweight = torch.empty((E, K, N), dtype=torch.float32, device=x.device)
    # The experts with most rows first: what begins last should be short.
    order = torch.argsort(offsets.diff(), descending=True, stable=True)
    grid = (triton.cdiv(K, BLOCK) * triton.cdiv(N, BLOCK), E)
    grad_weight_kernel[grid](
        grad_output,
        x,
        offsets,
        order,
        dweight,
        N,
        K,
        *grad_output.stride(),
        *x.stride(),
        ACCUMULATE=dweight_buffer is not None,
        BLOCK_K=BLOCK,
        BLOCK_N=BLOCK,
        BLOCK_M=BLOCK_CONTRACTED,
        num_warps=8,
        num_stages=3,
    )
    return dweight


def backward(grad_output, x, weight, offsets, dweight_buffer):
    """grad_output (M, N), x (M, K), weight (E, K, N): bfloat16, any strides. offsets (E + 1): int32.
    dweight_buffer: None, or (E, K, N) in float32, to which dweight is added.

    Returns dx (M, K) in bfloat16, 0 in rows of no expert, and dweight (E, K, N) in float32.
    """
    dx = grad_input(grad_output, weight, offsets)
    return dx, grad_weight(grad_output, x, offsets, dweight_buffer)
