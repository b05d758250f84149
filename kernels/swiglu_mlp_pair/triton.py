"""The SwiGLU MLP, forward and backward, in Triton: x alone is saved, gate and up are computed anew.

    h = silu(x Wgᵀ) · (x Wuᵀ)     (M, F)        y = h Wdᵀ     (M, D)

Backward computes gate, up and dh = dy Wd in one kernel, since all three contract over D, and stores what
the remaining products need. See notes.md.
"""

import torch
import triton
import triton.language as tl

BLOCK = 64  # tiles of (M, F) with two or three accumulators
TILE = 128  # tiles of a plain product
STEP = 32  # along a contracted dimension


@triton.jit
def _hidden(
    x_ptr,
    wg_ptr,
    wu_ptr,
    h_ptr,
    M,
    D,
    F,
    x_m,
    x_d,
    wg_f,
    wg_d,
    wu_f,
    wu_d,
    BLOCK_M: tl.constexpr,
    BLOCK_F: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    """A tile of h (M, F): gate and up stay in registers."""
    blocks_f = tl.cdiv(F, BLOCK_F)
    # 64-bit: an index times a stride may exceed 2³¹.
    m = ((tl.program_id(0) // blocks_f) * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    f = ((tl.program_id(0) % blocks_f) * BLOCK_F + tl.arange(0, BLOCK_F)).to(tl.int64)
    gate = tl.zeros((BLOCK_M, BLOCK_F), dtype=tl.float32)
    up = tl.zeros((BLOCK_M, BLOCK_F), dtype=tl.float32)
    for start in range(0, D, BLOCK_D):
        d = (start + tl.arange(0, BLOCK_D)).to(tl.int64)
        rows = (m[:, None] < M) & (d[None, :] < D)
        weights = (d[:, None] < D) & (f[None, :] < F)
        x = tl.load(x_ptr + m[:, None] * x_m + d[None, :] * x_d, mask=rows, other=0.0)
        wg = tl.load(wg_ptr + f[None, :] * wg_f + d[:, None] * wg_d, mask=weights, other=0.0)
        wu = tl.load(wu_ptr + f[None, :] * wu_f + d[:, None] * wu_d, mask=weights, other=0.0)
        gate = tl.dot(x, wg, gate)
        up = tl.dot(x, wu, up)
    h = gate * tl.sigmoid(gate) * up
    at = m[:, None] * F + f[None, :]
    tl.store(h_ptr + at, h.to(h_ptr.dtype.element_ty), mask=(m[:, None] < M) & (f[None, :] < F))


@triton.jit
def _hidden_and_gradients(
    dy_ptr,
    x_ptr,
    wg_ptr,
    wu_ptr,
    wd_ptr,
    h_ptr,
    dgate_ptr,
    dup_ptr,
    M,
    D,
    F,
    dy_m,
    dy_d,
    x_m,
    x_d,
    wg_f,
    wg_d,
    wu_f,
    wu_d,
    wd_d,
    wd_f,
    BLOCK_M: tl.constexpr,
    BLOCK_F: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    """A tile of h, dgate and dup (M, F). gate, up and dh contract over D together."""
    blocks_f = tl.cdiv(F, BLOCK_F)
    m = ((tl.program_id(0) // blocks_f) * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    f = ((tl.program_id(0) % blocks_f) * BLOCK_F + tl.arange(0, BLOCK_F)).to(tl.int64)
    gate = tl.zeros((BLOCK_M, BLOCK_F), dtype=tl.float32)
    up = tl.zeros((BLOCK_M, BLOCK_F), dtype=tl.float32)
    dh = tl.zeros((BLOCK_M, BLOCK_F), dtype=tl.float32)
    for start in range(0, D, BLOCK_D):
        d = (start + tl.arange(0, BLOCK_D)).to(tl.int64)
        rows = (m[:, None] < M) & (d[None, :] < D)
        weights = (d[:, None] < D) & (f[None, :] < F)
        x = tl.load(x_ptr + m[:, None] * x_m + d[None, :] * x_d, mask=rows, other=0.0)
        wg = tl.load(wg_ptr + f[None, :] * wg_f + d[:, None] * wg_d, mask=weights, other=0.0)
        gate = tl.dot(x, wg, gate)
        wu = tl.load(wu_ptr + f[None, :] * wu_f + d[:, None] * wu_d, mask=weights, other=0.0)
        up = tl.dot(x, wu, up)
        dy = tl.load(dy_ptr + m[:, None] * dy_m + d[None, :] * dy_d, mask=rows, other=0.0)
        wd = tl.load(wd_ptr + d[:, None] * wd_d + f[None, :] * wd_f, mask=weights, other=0.0)
        dh = tl.dot(dy, wd, dh)
    sigma = tl.sigmoid(gate)
    silu = gate * sigma
    at = m[:, None] * F + f[None, :]
    inside = (m[:, None] < M) & (f[None, :] < F)
    dgate = dh * up * (sigma + silu * (1.0 - sigma))
    tl.store(h_ptr + at, (silu * up).to(h_ptr.dtype.element_ty), mask=inside)
    tl.store(dgate_ptr + at, dgate.to(dgate_ptr.dtype.element_ty), mask=inside)
    tl.store(dup_ptr + at, (dh * silu).to(dup_ptr.dtype.element_ty), mask=inside)


@triton.jit
def _product(
    a_ptr,
    b_ptr,
    a2_ptr,
    b2_ptr,
    c_ptr,
    R,
    C,
    K,
    a_i,
    a_k,
    b_k,
    b_j,
    a2_i,
    a2_k,
    b2_k,
    b2_j,
    TWO: tl.constexpr,
    BLOCK_R: tl.constexpr,
    BLOCK_C: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """A tile of c = a b, or of a b + a2 b2, (R, C) and contiguous; K is contracted."""
    blocks_j = tl.cdiv(C, BLOCK_C)
    i = ((tl.program_id(0) // blocks_j) * BLOCK_R + tl.arange(0, BLOCK_R)).to(tl.int64)
    j = ((tl.program_id(0) % blocks_j) * BLOCK_C + tl.arange(0, BLOCK_C)).to(tl.int64)
    total = tl.zeros((BLOCK_R, BLOCK_C), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        k = (start + tl.arange(0, BLOCK_K)).to(tl.int64)
        left = (i[:, None] < R) & (k[None, :] < K)
        right = (k[:, None] < K) & (j[None, :] < C)
        a = tl.load(a_ptr + i[:, None] * a_i + k[None, :] * a_k, mask=left, other=0.0)
        b = tl.load(b_ptr + k[:, None] * b_k + j[None, :] * b_j, mask=right, other=0.0)
        total = tl.dot(a, b, total)
        if TWO:
            a2 = tl.load(a2_ptr + i[:, None] * a2_i + k[None, :] * a2_k, mask=left, other=0.0)
            b2 = tl.load(b2_ptr + k[:, None] * b2_k + j[None, :] * b2_j, mask=right, other=0.0)
            total = tl.dot(a2, b2, total)
    at = i[:, None] * C + j[None, :]
    inside = (i[:, None] < R) & (j[None, :] < C)
    tl.store(c_ptr + at, total.to(c_ptr.dtype.element_ty), mask=inside)


def forward(x, w_gate, w_up, w_down):
    """y (M, D) in x's dtype, and what is saved: x alone; any strides."""
    M, D = x.shape
    F = w_gate.shape[0]
    h = torch.empty((M, F), dtype=x.dtype, device=x.device)
    _hidden[(triton.cdiv(M, BLOCK) * triton.cdiv(F, BLOCK),)](
        x,
        w_gate,
        w_up,
        h,
        M,
        D,
        F,
        *x.stride(),
        *w_gate.stride(),
        *w_up.stride(),
        BLOCK_M=BLOCK,
        BLOCK_F=BLOCK,
        BLOCK_D=STEP,
    )
    return _multiplied(x.dtype, (h, w_down.t())), (x,)


def backward(grad_output, saved, w_gate, w_up, w_down):
    """dx (M, D) in x's dtype; dw_gate, dw_up (F, D) and dw_down (D, F) in float32; any strides."""
    (x,) = saved
    M, D = x.shape
    F = w_gate.shape[0]
    h, dgate, dup = (torch.empty((M, F), dtype=x.dtype, device=x.device) for _ in range(3))
    _hidden_and_gradients[(triton.cdiv(M, BLOCK) * triton.cdiv(F, BLOCK),)](
        grad_output,
        x,
        w_gate,
        w_up,
        w_down,
        h,
        dgate,
        dup,
        M,
        D,
        F,
        *grad_output.stride(),
        *x.stride(),
        *w_gate.stride(),
        *w_up.stride(),
        *w_down.stride(),
        BLOCK_M=BLOCK,
        BLOCK_F=BLOCK,
        BLOCK_D=STEP,
    )
    return (
        _multiplied(x.dtype, (dgate, w_gate), (dup, w_up)),
        _multiplied(torch.float32, (dgate.t(), x)),
        _multiplied(torch.float32, (dup.t(), x)),
        _multiplied(torch.float32, (grad_output.t(), h)),
    )


def _multiplied(dtype, pair, second=None):
    """a b of a pair, plus that of a second one; contiguous."""
    a, b = pair
    a2, b2 = pair if second is None else second
    (R, K), C = a.shape, b.shape[1]
    c = torch.empty((R, C), dtype=dtype, device=a.device)
    _product[(triton.cdiv(R, TILE) * triton.cdiv(C, TILE),)](
        a,
        b,
        a2,
        b2,
        c,
        R,
        C,
        K,
        *a.stride(),
        *b.stride(),
        *a2.stride(),
        *b2.stride(),
        TWO=second is not None,
        BLOCK_R=TILE,
        BLOCK_C=TILE,
        BLOCK_K=STEP,
        num_warps=8,
    )
    return c
