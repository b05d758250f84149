"""Linear cross-entropy, backward. Two TODOs stand between this file and correct gradients."""

import torch
import triton
import triton.language as tl

CLASSES = 4096  # of a piece of the vocabulary: dlogits exists for one piece at a time


@triton.jit
def tile(ptr, rows, cols, stride_row, stride_col, height, width):
    """A tile of a matrix, zero beyond its ends."""
    at = rows.to(tl.int64)[:, None] * stride_row + cols.to(tl.int64)[None, :] * stride_col
    return tl.load(ptr + at, mask=(rows[:, None] < height) & (cols[None, :] < width), other=0.0)


@triton.jit
def dlogits_kernel(
    h_ptr, w_ptr, target_ptr, lse_ptr, dz_ptr, first, M, V, K, classes, h_m, h_k, w_v, w_k,
    BLOCK: tl.constexpr,
):  # fmt: skip
    """A tile of softmax minus one-hot for classes from `first` on, without the factor of the mean."""
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    within = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    v = first + within
    logits = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for start in range(0, K, BLOCK):
        k = start + tl.arange(0, BLOCK)
        h = tile(h_ptr, m, k, h_m, h_k, M, K)
        w = tile(w_ptr, v, k, w_v, w_k, V, K)
        logits = tl.dot(h, tl.trans(w), logits)
    target = tl.load(target_ptr + m, mask=m < M, other=-100)
    lse = tl.load(lse_ptr + m, mask=m < M, other=0.0)
    # TODO 1: the target's own logit has a second term.
    dz = tl.exp(logits - lse[:, None])
    dz = tl.where((target != -100)[:, None], dz, 0.0)
    at = m.to(tl.int64)[:, None] * classes + within[None, :]
    inside = (m[:, None] < M) & (within[None, :] < classes)
    tl.store(dz_ptr + at, dz.to(dz_ptr.dtype.element_ty), mask=inside)


@triton.jit
def dhidden_kernel(
    dz_ptr, w_ptr, dh_ptr, first, M, V, K, classes, w_v, w_k, BLOCK: tl.constexpr
):  # fmt: skip
    """Adds dz @ weight of one piece of the vocabulary to a tile of dhidden, which is float32."""
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    k = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for start in range(0, classes, BLOCK):
        within = start + tl.arange(0, BLOCK)
        dz = tile(dz_ptr, m, within, classes, 1, M, classes)
        w = tile(w_ptr, first + within, k, w_v, w_k, V, K)
        total = tl.dot(dz, w, total)
    at = m.to(tl.int64)[:, None] * K + k[None, :]
    inside = (m[:, None] < M) & (k[None, :] < K)
    total += tl.load(dh_ptr + at, mask=inside, other=0.0)
    tl.store(dh_ptr + at, total, mask=inside)


@triton.jit
def dweight_kernel(h_ptr, dz_ptr, dw_ptr, first, M, K, classes, h_m, h_k, BLOCK: tl.constexpr):
    """A tile of dz.T @ hidden for one piece of the vocabulary."""
    within = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    k = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    # TODO 2: this is the first block of tokens. The weight was used by all M of them.
    m = tl.arange(0, BLOCK)
    dz = tile(dz_ptr, m, within, classes, 1, M, classes)
    h = tile(h_ptr, m, k, h_m, h_k, M, K)
    total = tl.dot(tl.trans(dz), h)
    at = (first + within).to(tl.int64)[:, None] * K + k[None, :]
    tl.store(dw_ptr + at, total, mask=(within[:, None] < classes) & (k[None, :] < K))


def backward(grad_output, hidden, weight, target, lse):
    """Gradients of the mean of lse[i] - logits[i, target[i]], logits = hidden @ weight.T.

    grad_output  ()     float32, the gradient with respect to that mean
    hidden       (M, K) bfloat16, any strides
    weight       (V, K) bfloat16, any strides
    target       (M,)   int64, a class from 0 to V - 1, or -100: a row that does not count
    lse          (M,)   float32, the log-sum-exp of each row's logits, saved by forward

    Returns dhidden (M, K) bfloat16 and dweight (V, K) float32.
    """
    (M, K), V = hidden.shape, weight.shape[0]
    dhidden = torch.zeros((M, K), dtype=torch.float32, device=hidden.device)
    dweight = torch.empty((V, K), dtype=torch.float32, device=hidden.device)
    dz = torch.empty(M * min(V, CLASSES), dtype=hidden.dtype, device=hidden.device)
    tiles_m, tiles_k = triton.cdiv(M, 64), triton.cdiv(K, 64)
    for first in range(0, V, CLASSES):
        classes = min(CLASSES, V - first)
        tiles_v = triton.cdiv(classes, 64)
        h, w = hidden.stride(), weight.stride()
        dlogits_kernel[(tiles_m, tiles_v)](
            hidden, weight, target, lse, dz, first, M, V, K, classes, *h, *w, BLOCK=64
        )
        dhidden_kernel[(tiles_m, tiles_k)](
            dz, weight, dhidden, first, M, V, K, classes, *w, BLOCK=64
        )
        dweight_kernel[(tiles_v, tiles_k)](hidden, dz, dweight, first, M, K, classes, *h, BLOCK=64)
    # The mean over the rows that count, once for all: on the device, without waiting for it.
    scale = grad_output / (target != -100).sum().clamp(min=1)
    return (dhidden * scale).to(hidden.dtype), dweight * scale
