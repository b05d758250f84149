"""Linear cross-entropy, backward, in one kernel: no logit and no d is ever stored.

    logits = h Wᵀ,   d = exp(logits − lse) − onehot (0 in ignored rows),   s = dloss / n

    dh = s · d W     (M, K)        dW = s · dᵀ h    (V, K)

A tile of d lives in registers and is used for both gradients at once. Its part of each is wider than
registers, so it is added to float32 results in memory. See notes.md for when that pays.
"""

import math

import torch
import triton
import triton.language as tl

IGNORE_INDEX = -100
LOG2_E = tl.constexpr(math.log2(math.e))  # the hardware's exponential is a power of two
BLOCK = 128  # tile of d: the larger, the fewer additions a result gets
BLOCK_K = 64  # features of a step
GROUP = 8  # tiles of one group of rows run together, so that their operands are still in L2


@triton.jit
def _tile(ptr, rows, cols, stride_row, stride_col, height, width):
    """A tile of a matrix, zero beyond its ends."""
    return tl.load(
        ptr + rows.to(tl.int64)[:, None] * stride_row + cols.to(tl.int64)[None, :] * stride_col,
        mask=(rows[:, None] < height) & (cols[None, :] < width),
        other=0.0,
    )


@triton.jit
def _add(ptr, rows, cols, width, value, height):
    """Add a tile to a contiguous float32 matrix in memory, whoever else does so meanwhile."""
    tl.atomic_add(
        ptr + rows.to(tl.int64)[:, None] * width + cols[None, :],
        value,
        mask=(rows[:, None] < height) & (cols[None, :] < width),
        sem="relaxed",
    )


@triton.jit
def gradients_kernel(
    dloss_ptr,
    count_ptr,
    hidden_ptr,
    weight_ptr,
    target_ptr,
    lse_ptr,
    dhidden_ptr,
    dweight_ptr,
    M,
    V,
    K,
    hidden_m,
    hidden_k,
    weight_v,
    weight_k,
    IGNORE: tl.constexpr,
    GROUP: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_V: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """One program: a tile of d, and all that it gives to both gradients."""
    tiles_m, tiles_v = tl.cdiv(M, BLOCK_M), tl.cdiv(V, BLOCK_V)
    first = tl.program_id(0) // (GROUP * tiles_v) * GROUP
    height = tl.minimum(tiles_m - first, GROUP)
    at = tl.program_id(0) % (GROUP * tiles_v)
    m = (first + at % height) * BLOCK_M + tl.arange(0, BLOCK_M)
    v = (at // height) * BLOCK_V + tl.arange(0, BLOCK_V)

    logits = tl.zeros((BLOCK_M, BLOCK_V), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        h = _tile(hidden_ptr, m, k, hidden_m, hidden_k, M, K)
        w = _tile(weight_ptr, v, k, weight_v, weight_k, V, K)
        logits = tl.dot(h, tl.trans(w), logits)

    target = tl.load(target_ptr + m, mask=m < M, other=IGNORE)
    lse = tl.load(lse_ptr + m, mask=m < M, other=0.0)
    p = tl.exp2((logits - lse[:, None]) * LOG2_E)
    # 1 is subtracted in float32: of p − 1 near 0, bfloat16 would leave nothing.
    d = tl.where(v[None, :] == target[:, None], p - 1.0, p)
    # Rows that are ignored and classes beyond the last give nothing.
    d = tl.where((target == IGNORE)[:, None] | (v >= V)[None, :], 0.0, d)
    d = d.to(hidden_ptr.dtype.element_ty)

    # max(count, 1): without any row that counts d is 0, and 0 / 0 must not make it NaN.
    scale = tl.load(dloss_ptr) / tl.maximum(tl.load(count_ptr), 1).to(tl.float32)
    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        h = _tile(hidden_ptr, m, k, hidden_m, hidden_k, M, K)
        w = _tile(weight_ptr, v, k, weight_v, weight_k, V, K)
        _add(dhidden_ptr, m, k, K, tl.dot(d, w) * scale, M)
        _add(dweight_ptr, v, k, K, tl.dot(tl.trans(d), h) * scale, V)


def fitting(size, most):
    """A power of two that covers `size`, from 16, the least that tensor cores take, up to `most`."""
    return min(most, max(16, triton.next_power_of_2(size)))


def backward(grad_output, hidden, weight, target, lse):
    """grad_output () float32; hidden (M, K) and weight (V, K) bfloat16, any strides; lse (M,) float32.

    Returns dhidden (M, K) in bfloat16 and dweight (V, K) in float32; the last bits differ between calls.
    """
    (M, K), V = hidden.shape, weight.shape[0]
    total = torch.zeros((M, K), dtype=torch.float32, device=hidden.device)
    dweight = torch.zeros((V, K), dtype=torch.float32, device=hidden.device)
    count = (target != IGNORE_INDEX).sum()  # stays on the device: no waiting for it here
    block_m, block_v = fitting(M, BLOCK), fitting(V, BLOCK)
    gradients_kernel[(triton.cdiv(M, block_m) * triton.cdiv(V, block_v),)](
        grad_output,
        count,
        hidden,
        weight,
        target,
        lse,
        total,
        dweight,
        M,
        V,
        K,
        *hidden.stride(),
        *weight.stride(),
        IGNORE=IGNORE_INDEX,
        GROUP=GROUP,
        BLOCK_M=block_m,
        BLOCK_V=block_v,
        BLOCK_K=fitting(K, BLOCK_K),
        num_warps=8,
        num_stages=2,
    )
    return total.to(hidden.dtype), dweight
