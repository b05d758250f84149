"""Causal grouped-query attention over packed documents, backward: one kernel, dq by atomic additions.

    P = exp(scale · q kᵀ − lse),   dP = do vᵀ,   dS = P (dP − delta),   delta = rowsum(do · out)

A program keeps a tile of keys and walks over the queries that see them. Each tile of P and dS is made
once and serves all three gradients: five products instead of the seven of triton.py. dk and dv stay in
the program; what it has for dq it adds to a float32 buffer in memory, where the programs of other keys
add theirs, in an order that changes from run to run.
"""

import math

import torch
import triton
import triton.language as tl

LOG2_E = tl.constexpr(math.log2(math.e))  # the hardware's exponential is a power of two


@triton.jit
def _tile(ptr, start, stride_token, stride_dim, T, D, ROWS: tl.constexpr, BLOCK_D: tl.constexpr):
    """Tokens start to start + ROWS of one head, zero beyond its ends.

    Only the tile's beginning is a 64-bit offset. Those within it do not change from tile to tile, which
    saves registers for the accumulators.
    """
    rows = tl.arange(0, ROWS)[:, None]
    dims = tl.arange(0, BLOCK_D)[None, :]
    return tl.load(
        ptr + tl.cast(start, tl.int64) * stride_token + (rows * stride_token + dims * stride_dim),
        mask=(rows < T - start) & (dims < D),
        other=0.0,
    )


@triton.jit
def _store(ptr, tile, start, heads, T, D, ROWS: tl.constexpr, BLOCK_D: tl.constexpr):
    """Stores a tile of one head of a contiguous (T, heads, D)."""
    rows = tl.arange(0, ROWS)[:, None]
    dims = tl.arange(0, BLOCK_D)[None, :]
    at = ptr + tl.cast(start, tl.int64) * heads * D + (rows * heads * D + dims)
    tl.store(at, tile.to(ptr.dtype.element_ty), mask=(rows < T - start) & (dims < D))


@triton.jit
def delta_kernel(
    grad_output_ptr,
    out_ptr,
    delta_ptr,
    T,
    D,
    grad_output_token,
    grad_output_head,
    grad_output_dim,
    out_token,
    out_head,
    out_dim,
    BLOCK_T: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    """delta (heads, T) in float32: for each query the sum of do · out."""
    head = tl.program_id(1).to(tl.int64)
    start = tl.program_id(0) * BLOCK_T
    do_ptr = grad_output_ptr + head * grad_output_head
    do = _tile(do_ptr, start, grad_output_token, grad_output_dim, T, D, BLOCK_T, BLOCK_D)
    o = _tile(out_ptr + head * out_head, start, out_token, out_dim, T, D, BLOCK_T, BLOCK_D)
    tokens = start + tl.arange(0, BLOCK_T)
    delta = tl.sum(do.to(tl.float32) * o.to(tl.float32), axis=1)
    tl.store(delta_ptr + head * T + tokens, delta, mask=tokens < T)


@triton.jit
def grad_kernel(
    grad_output_ptr,
    q_ptr,
    k_ptr,
    v_ptr,
    lse_ptr,
    delta_ptr,
    last_ptr,
    dq_ptr,
    dk_ptr,
    dv_ptr,
    T,
    D,
    scale,
    grad_output_token,
    grad_output_head,
    grad_output_dim,
    q_token,
    q_head,
    q_dim,
    k_token,
    k_head,
    k_dim,
    v_token,
    v_head,
    v_dim,
    lse_head,
    lse_token,
    GROUP: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    """One program: dk and dv for BLOCK_N keys of one key-value head, and what those keys add to dq.

    Keys are the rows of P here, so that Pᵀ and dSᵀ come out as the products for dk and dv need them.
    """
    start = tl.program_id(0) * BLOCK_N
    kv_head = tl.program_id(1).to(tl.int64)
    k = _tile(k_ptr + kv_head * k_head, start, k_token, k_dim, T, D, BLOCK_N, BLOCK_D)
    v = _tile(v_ptr + kv_head * v_head, start, v_token, v_dim, T, D, BLOCK_N, BLOCK_D)
    keys = start + tl.arange(0, BLOCK_N)
    # Where the document of each key ends; 0 for a key without one: no query is that early.
    last = tl.load(last_ptr + keys, mask=keys < T, other=0)
    latest = tl.max(last, axis=0)

    dk = tl.zeros((BLOCK_N, BLOCK_D), dtype=tl.float32)
    dv = tl.zeros((BLOCK_N, BLOCK_D), dtype=tl.float32)
    kv_heads = tl.num_programs(1)
    heads = kv_heads * GROUP
    dims = tl.arange(0, BLOCK_D)[None, :]
    # One loop over the group's heads and the tiles of each: accumulators never leave their place.
    begin = start // BLOCK_M * BLOCK_M
    tiles = tl.cdiv(tl.maximum(latest - begin, 0), BLOCK_M)
    for step in range(GROUP * tiles):
        head = kv_head * GROUP + step // tiles
        at = begin + step % tiles * BLOCK_M
        q = _tile(q_ptr + head * q_head, at, q_token, q_dim, T, D, BLOCK_M, BLOCK_D)
        do_ptr = grad_output_ptr + head * grad_output_head
        do = _tile(do_ptr, at, grad_output_token, grad_output_dim, T, D, BLOCK_M, BLOCK_D)
        queries = at + tl.arange(0, BLOCK_M)
        lse_at = lse_ptr + head * lse_head + queries.to(tl.int64) * lse_token
        lse = tl.load(lse_at, mask=queries < T, other=0.0) * LOG2_E
        delta = tl.load(delta_ptr + head * T + queries, mask=queries < T, other=0.0)

        pt = tl.exp2(tl.dot(k, tl.trans(q)) * (scale * LOG2_E) - lse[None, :])
        within = tl.arange(0, BLOCK_M)[None, :]
        visible = (within >= (keys - at)[:, None]) & (within < (last - at)[:, None])
        pt = tl.where(visible, pt, 0.0)
        dv = tl.dot(pt.to(do.dtype), do, dv)
        dst = (pt * (tl.dot(v, tl.trans(do)) - delta[None, :])).to(q.dtype)
        dk = tl.dot(dst, q, dk)
        # Relaxed: nobody reads dq before the kernel ends.
        rows = tl.arange(0, BLOCK_M)[:, None]
        to = dq_ptr + (tl.cast(at, tl.int64) * heads + head) * D + (rows * heads * D + dims)
        inside = (rows < latest - at) & (dims < D)
        tl.atomic_add(to, tl.dot(tl.trans(dst), k), mask=inside, sem="relaxed")
    _store(dk_ptr + kv_head * D, dk * scale, start, kv_heads, T, D, BLOCK_N, BLOCK_D)
    _store(dv_ptr + kv_head * D, dv, start, kv_heads, T, D, BLOCK_N, BLOCK_D)


def document_ends(cu_seqlens, T):
    """For each token, where its document ends, int32; 0 for tokens of no document."""
    tokens = torch.arange(T, dtype=torch.int32, device=cu_seqlens.device)
    after = torch.searchsorted(cu_seqlens, tokens, right=True)  # empty documents are passed over
    bounds = torch.nn.functional.pad(cu_seqlens, (0, 1))  # as if padding ended at 0
    return bounds[after]


def backward(grad_output, q, k, v, out, lse, cu_seqlens):
    """grad_output, q, out (T, H·G, D), k, v (T, H, D): bfloat16; lse (H·G, T) float32; any strides.

    Returns dq (T, H·G, D), dk and dv (T, H, D) in bfloat16. dq's last bits change.
    """
    (T, heads, D), kv_heads = q.shape, k.shape[1]
    dq = torch.zeros((T, heads, D), dtype=torch.float32, device=q.device)
    dk = torch.empty((T, kv_heads, D), dtype=k.dtype, device=k.device)
    dv = torch.empty((T, kv_heads, D), dtype=v.dtype, device=v.device)
    delta = torch.empty((heads, T), dtype=torch.float32, device=q.device)
    last = document_ends(cu_seqlens, T)
    BLOCK_D = max(16, triton.next_power_of_2(D))  # 16: the least that tensor cores contract
    delta_kernel[(triton.cdiv(T, 64), heads)](
        grad_output,
        out,
        delta,
        T,
        D,
        *grad_output.stride(),
        *out.stride(),
        BLOCK_T=64,
        BLOCK_D=BLOCK_D,
    )
    # A third product's accumulator, that of dq, leaves room for fewer keys than in triton.py.
    BLOCK_N, BLOCK_M = (64, 32) if BLOCK_D <= 128 else (32, 16)
    grad_kernel[(triton.cdiv(T, BLOCK_N), kv_heads)](
        grad_output,
        q,
        k,
        v,
        lse,
        delta,
        last,
        dq,
        dk,
        dv,
        T,
        D,
        D**-0.5,
        *grad_output.stride(),
        *q.stride(),
        *k.stride(),
        *v.stride(),
        *lse.stride(),
        GROUP=heads // kv_heads,
        BLOCK_M=BLOCK_M,
        BLOCK_N=BLOCK_N,
        BLOCK_D=BLOCK_D,
        num_warps=8,
        num_stages=2,
    )
    return (dq * D**-0.5).to(q.dtype), dk, dv
