"""Linear cross-entropy, backward: the vocabulary in pieces, each of three matrix products.

    logits = h Wᵀ,   d = exp(logits − lse) − onehot (0 in ignored rows),   s = dloss / n

    dh = s · d W     (M, K)   contracts over the vocabulary: added up over the pieces
    dW = s · dᵀ h    (V, K)   contracts over the tokens: a piece's rows are complete at once

A logit needs nothing of its row but the saved lse, so the vocabulary may be cut anywhere. Of d there is
never more than a piece of some thousand columns; of the logits there is never more than a tile.
"""

import math

import torch
import triton
import triton.language as tl

IGNORE_INDEX = -100
LOG2_E = tl.constexpr(math.log2(math.e))  # the hardware's exponential is a power of two
CLASSES = (
    8192  # of a piece: each piece costs dh one float32 pass, and M × CLASSES bfloat16 of memory
)
BLOCK = 128  # tile of a product: BLOCK × BLOCK accumulators in float32
BLOCK_CONTRACTED = 64  # step along the contracted dimension
GROUP = 8  # rows of tiles that are worked on together, so that operands are still in L2


@triton.jit
def _place(rows, cols, GROUP: tl.constexpr):
    """Row and column of this program's tile, in an order that walks down GROUP rows of tiles at once."""
    in_group = GROUP * cols
    first = tl.program_id(0) // in_group * GROUP
    height = tl.minimum(rows - first, GROUP)
    at = tl.program_id(0) % in_group
    return first + at % height, at // height


@triton.jit
def _tile(ptr, rows, cols, stride_row, stride_col, height, width):
    """A tile of a matrix, zero beyond its ends."""
    return tl.load(
        ptr + rows.to(tl.int64)[:, None] * stride_row + cols.to(tl.int64)[None, :] * stride_col,
        mask=(rows[:, None] < height) & (cols[None, :] < width),
        other=0.0,
    )


@triton.jit
def grad_logits_kernel(
    hidden_ptr,
    weight_ptr,
    target_ptr,
    lse_ptr,
    d_ptr,
    first_class,
    M,
    V,
    K,
    classes,
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
    """One program: a tile of d (M, classes), made from the logits while they are in registers."""
    tile_m, tile_v = _place(tl.cdiv(M, BLOCK_M), tl.cdiv(classes, BLOCK_V), GROUP)
    m = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
    within = tile_v * BLOCK_V + tl.arange(0, BLOCK_V)
    v = first_class + within
    logits = tl.zeros((BLOCK_M, BLOCK_V), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        h = _tile(hidden_ptr, m, k, hidden_m, hidden_k, M, K)
        w = _tile(weight_ptr, v, k, weight_v, weight_k, V, K)
        logits = tl.dot(h, tl.trans(w), logits)

    target = tl.load(target_ptr + m, mask=m < M, other=IGNORE)
    lse = tl.load(lse_ptr + m, mask=m < M, other=0.0)
    p = tl.exp2((logits - lse[:, None]) * LOG2_E)
    # An ignored target equals no class, so it is never used as an index. 1 is subtracted in float32: of
    # p − 1 near 0, bfloat16 would leave nothing. The scale waits for the end of the sums.
    d = tl.where(v[None, :] == target[:, None], p - 1.0, p)
    d = tl.where((target == IGNORE)[:, None], 0.0, d)
    tl.store(
        d_ptr + m.to(tl.int64)[:, None] * classes + within[None, :],
        d.to(d_ptr.dtype.element_ty),
        mask=(m[:, None] < M) & (within[None, :] < classes),
    )


@triton.jit
def grad_hidden_kernel(
    dloss_ptr,
    count_ptr,
    d_ptr,
    weight_ptr,
    total_ptr,
    dhidden_ptr,
    first_class,
    M,
    V,
    K,
    classes,
    weight_v,
    weight_k,
    GROUP: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_V: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """One program: adds what this piece of the vocabulary gives to a tile of dhidden.

    The sum over the pieces is float32, in `total`; after the last piece it is scaled and rounded, once.
    """
    tile_m, tile_k = _place(tl.cdiv(M, BLOCK_M), tl.cdiv(K, BLOCK_K), GROUP)
    m = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
    k = tile_k * BLOCK_K + tl.arange(0, BLOCK_K)
    at = m.to(tl.int64)[:, None] * K + k[None, :]
    inside = (m[:, None] < M) & (k[None, :] < K)
    total = tl.zeros((BLOCK_M, BLOCK_K), dtype=tl.float32)
    for start in range(0, classes, BLOCK_V):
        within = start + tl.arange(0, BLOCK_V)
        d = _tile(d_ptr, m, within, classes, 1, M, classes)
        w = _tile(weight_ptr, first_class + within, k, weight_v, weight_k, V, K)
        total = tl.dot(d, w, total)

    if first_class > 0:
        total += tl.load(total_ptr + at, mask=inside, other=0.0)
    if first_class + classes < V:
        tl.store(total_ptr + at, total, mask=inside)
    else:
        # max(count, 1): without any row that counts d is 0, and 0 / 0 must not make it NaN.
        scale = tl.load(dloss_ptr) / tl.maximum(tl.load(count_ptr), 1).to(tl.float32)
        tl.store(dhidden_ptr + at, (total * scale).to(dhidden_ptr.dtype.element_ty), mask=inside)


@triton.jit
def grad_weight_kernel(
    dloss_ptr,
    count_ptr,
    hidden_ptr,
    d_ptr,
    dweight_ptr,
    first_class,
    M,
    K,
    classes,
    hidden_m,
    hidden_k,
    GROUP: tl.constexpr,
    BLOCK_V: tl.constexpr,
    BLOCK_K: tl.constexpr,
    BLOCK_M: tl.constexpr,
):
    """One program: a tile of dweight over all tokens, complete."""
    tile_v, tile_k = _place(tl.cdiv(classes, BLOCK_V), tl.cdiv(K, BLOCK_K), GROUP)
    within = tile_v * BLOCK_V + tl.arange(0, BLOCK_V)
    k = tile_k * BLOCK_K + tl.arange(0, BLOCK_K)
    total = tl.zeros((BLOCK_V, BLOCK_K), dtype=tl.float32)
    for start in range(0, M, BLOCK_M):
        m = start + tl.arange(0, BLOCK_M)
        d = _tile(d_ptr, m, within, classes, 1, M, classes)
        h = _tile(hidden_ptr, m, k, hidden_m, hidden_k, M, K)
        total = tl.dot(tl.trans(d), h, total)

    scale = tl.load(dloss_ptr) / tl.maximum(tl.load(count_ptr), 1).to(tl.float32)
    tl.store(
        dweight_ptr + (first_class + within).to(tl.int64)[:, None] * K + k[None, :],
        total * scale,
        mask=(within[:, None] < classes) & (k[None, :] < K),
    )


def fitting(size, most):
    """A power of two that covers `size`, from 16, the least that tensor cores take, up to `most`."""
    return min(most, max(16, triton.next_power_of_2(size)))


def backward(grad_output, hidden, weight, target, lse):
    """grad_output () float32; hidden (M, K) and weight (V, K) bfloat16, any strides; lse (M,) float32.

    Returns dhidden (M, K) in bfloat16 and dweight (V, K) in float32. The same bits every time.
    """
    (M, K), V = hidden.shape, weight.shape[0]
    device = hidden.device
    dhidden = torch.empty((M, K), dtype=hidden.dtype, device=device)
    dweight = torch.empty((V, K), dtype=torch.float32, device=device)
    total = torch.empty((M, K) if V > CLASSES else (1,), dtype=torch.float32, device=device)
    piece = torch.empty(M * min(V, CLASSES), dtype=hidden.dtype, device=device)
    count = (target != IGNORE_INDEX).sum()  # stays on the device: no waiting for it here

    # Tiles of the result, and steps along what is contracted; both no wider than the matrices.
    BLOCK_M, BLOCK_V, BLOCK_K = (fitting(size, BLOCK) for size in (M, V, K))
    STEP_M, STEP_V, STEP_K = (fitting(size, BLOCK_CONTRACTED) for size in (M, V, K))
    tiles_m, tiles_k = triton.cdiv(M, BLOCK_M), triton.cdiv(K, BLOCK_K)
    options = {"GROUP": GROUP, "num_warps": 8, "num_stages": 3}
    for first in range(0, V, CLASSES):
        classes = min(CLASSES, V - first)
        tiles_v = triton.cdiv(classes, BLOCK_V)
        grad_logits_kernel[(tiles_m * tiles_v,)](
            hidden,
            weight,
            target,
            lse,
            piece,
            first,
            M,
            V,
            K,
            classes,
            *hidden.stride(),
            *weight.stride(),
            IGNORE=IGNORE_INDEX,
            BLOCK_M=BLOCK_M,
            BLOCK_V=BLOCK_V,
            BLOCK_K=STEP_K,
            **options,
        )
        grad_hidden_kernel[(tiles_m * tiles_k,)](
            grad_output,
            count,
            piece,
            weight,
            total,
            dhidden,
            first,
            M,
            V,
            K,
            classes,
            *weight.stride(),
            BLOCK_M=BLOCK_M,
            BLOCK_K=BLOCK_K,
            BLOCK_V=STEP_V,
            **options,
        )
        grad_weight_kernel[(tiles_v * tiles_k,)](
            grad_output,
            count,
            hidden,
            piece,
            dweight,
            first,
            M,
            K,
            classes,
            *hidden.stride(),
            BLOCK_V=BLOCK_V,
            BLOCK_K=BLOCK_K,
            BLOCK_M=STEP_M,
            **options,
        )
    return dhidden, dweight
