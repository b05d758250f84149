"""Causal depthwise convolution with SiLU, backward: a walk through time with everything in registers.

See notes.md for the way here from the derivation.
"""

import torch
import triton
import triton.language as tl

CHUNK = 64  # steps that one strip walks: 6 more are read than written, about a tenth
TILE = 1024  # elements of a tile: strips × channels, 8 for each thread of 4 warps


@triton.jit
def _strips(
    dy_ptr,
    x_ptr,
    w_ptr,
    b_ptr,
    dx_ptr,
    partial_ptr,
    T,
    D,
    strips,
    dy_seq,
    dy_step,
    dy_chan,
    x_seq,
    x_step,
    x_chan,
    w_chan,
    w_tap,
    W: tl.constexpr,
    CHUNK: tl.constexpr,
    BLOCK_S: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    """dx of BLOCK_S strips (a sequence's CHUNK steps each), and their share of dweight and dbias.

    A lag l is a tap counted from the present: lag 0 multiplies x[t], lag 3 multiplies x[t - 3].
    """
    blocks = tl.cdiv(D, BLOCK_D)
    part = tl.program_id(0) // blocks
    strip = part * BLOCK_S + tl.arange(0, BLOCK_S)
    chan = (tl.program_id(0) % blocks) * BLOCK_D + tl.arange(0, BLOCK_D)
    inside = (strip < strips)[:, None] & (chan < D)[None, :]
    chunks = tl.cdiv(T, CHUNK)
    seq = (strip // chunks).to(tl.int64)[:, None]  # 64-bit: B × T × D may exceed 2³¹
    begin = (strip % chunks * CHUNK)[:, None]
    dy_at = dy_ptr + seq * dy_seq + chan[None, :].to(tl.int64) * dy_chan
    x_at = x_ptr + seq * x_seq + chan[None, :].to(tl.int64) * x_chan
    dx_at = dx_ptr + seq * T * D + chan[None, :]

    # Lags beyond the width weigh nothing.
    w_at = w_ptr + chan * w_chan
    v0 = tl.load(w_at + (W - 1) * w_tap, mask=chan < D, other=0.0).to(tl.float32)[None, :]
    v1 = tl.load(w_at + (W - 2) * w_tap, mask=(chan < D) & (W > 1), other=0.0).to(tl.float32)
    v2 = tl.load(w_at + (W - 3) * w_tap, mask=(chan < D) & (W > 2), other=0.0).to(tl.float32)
    v3 = tl.load(w_at + (W - 4) * w_tap, mask=(chan < D) & (W > 3), other=0.0).to(tl.float32)
    v1, v2, v3 = v1[None, :], v2[None, :], v3[None, :]
    bias = tl.load(b_ptr + chan, mask=chan < D, other=0.0).to(tl.float32)[None, :]

    # What the first step needs of the past: x of three steps ago, two, one. g of the past is not ours.
    x3 = _step(x_at, begin - 3, x_step, T, inside)
    x2 = _step(x_at, begin - 2, x_step, T, inside)
    x1 = _step(x_at, begin - 1, x_step, T, inside)
    zero = tl.zeros((BLOCK_S, BLOCK_D), dtype=tl.float32)
    g1, g2, g3 = zero, zero, zero
    dv0, dv1, dv2, dv3, db = zero, zero, zero, zero, zero

    # dx of a step waits for g of the three after it, so the walk goes three steps beyond the chunk.
    for step in range(CHUNK + 3):
        t = begin + step
        x0 = _step(x_at, t, x_step, T, inside)
        dy = _step(dy_at, t, dy_step, T, inside)
        u = bias + v0 * x0 + v1 * x1 + v2 * x2 + v3 * x3
        s = tl.sigmoid(u)
        g0 = dy * s * (1 + u * (1 - s))
        if step < CHUNK:  # what lies beyond belongs to the next strip
            dv0 += g0 * x0
            dv1 += g0 * x1
            dv2 += g0 * x2
            dv3 += g0 * x3
            db += g0
        if step >= 3:
            dx = v0 * g3 + v1 * g2 + v2 * g1 + v3 * g0
            to = dx_at + (t - 3).to(tl.int64) * D
            tl.store(to, dx.to(dx_ptr.dtype.element_ty), mask=inside & (t - 3 < T))
        x3, x2, x1 = x2, x1, x0
        g3, g2, g1 = g2, g1, g0

    to = partial_ptr + part.to(tl.int64) * 5 * D + chan
    tl.store(to, tl.sum(dv0, axis=0), mask=chan < D)
    tl.store(to + D, tl.sum(dv1, axis=0), mask=chan < D)
    tl.store(to + 2 * D, tl.sum(dv2, axis=0), mask=chan < D)
    tl.store(to + 3 * D, tl.sum(dv3, axis=0), mask=chan < D)
    tl.store(to + 4 * D, tl.sum(db, axis=0), mask=chan < D)


@triton.jit
def _step(at, t, stride, T, inside):
    """One step of every strip in float32; zeros before the first and after the last."""
    there = inside & (t >= 0) & (t < T)
    return tl.load(at + t.to(tl.int64) * stride, mask=there, other=0.0).to(tl.float32)


@triton.jit
def _sum_partials(
    partial_ptr,
    dw_ptr,
    db_ptr,
    P,
    D,
    W: tl.constexpr,
    BLOCK_P: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    """One lag of dweight (4: dbias) for one block of channels: the sum over the P parts."""
    lag = tl.program_id(1)
    chan = tl.program_id(0) * BLOCK_D + tl.arange(0, BLOCK_D)
    total = tl.zeros((BLOCK_D,), dtype=tl.float32)
    for start in range(0, P, BLOCK_P):
        part = (start + tl.arange(0, BLOCK_P)).to(tl.int64)
        inside = (part < P)[:, None] & (chan < D)[None, :]
        at = partial_ptr + (part * 5 + lag)[:, None] * D + chan[None, :]
        total += tl.sum(tl.load(at, mask=inside, other=0.0), axis=0)
    tl.store(dw_ptr + chan * W + (W - 1 - lag), total, mask=(chan < D) & (lag < W))
    tl.store(db_ptr + chan, total, mask=(chan < D) & (lag == 4))


def backward(grad_output, x, weight, bias):
    """dx (B, T, D) in x's dtype, dweight (D, W) and dbias (D,) in float32; W is at most 4."""
    (B, T, D), W = x.shape, weight.shape[1]
    dx = torch.empty((B, T, D), dtype=x.dtype, device=x.device)
    dweight = torch.empty((D, W), dtype=torch.float32, device=x.device)
    dbias = torch.empty((D,), dtype=torch.float32, device=x.device)

    chunk = min(CHUNK, triton.next_power_of_2(T))
    strips = B * triton.cdiv(T, chunk)
    BLOCK_D = min(triton.next_power_of_2(D), 256)
    BLOCK_S = min(TILE // BLOCK_D, triton.next_power_of_2(strips))
    parts, blocks = triton.cdiv(strips, BLOCK_S), triton.cdiv(D, BLOCK_D)
    partial = torch.empty((parts, 5, D), dtype=torch.float32, device=x.device)
    _strips[(parts * blocks,)](
        grad_output,
        x,
        weight,
        bias,
        dx,
        partial,
        T,
        D,
        strips,
        *grad_output.stride(),
        *x.stride(),
        *weight.stride(),
        W=W,
        CHUNK=chunk,
        BLOCK_S=BLOCK_S,
        BLOCK_D=BLOCK_D,
        num_warps=4,
    )
    columns = min(triton.next_power_of_2(D), 64)
    _sum_partials[(triton.cdiv(D, columns), 5)](
        partial, dweight, dbias, parts, D, W=W, BLOCK_P=32, BLOCK_D=columns
    )
    return dx, dweight, dbias
