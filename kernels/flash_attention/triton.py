"""Causal grouped-query attention over packed documents, backward: two kernels that recompute P.

    P = exp(scale · q kᵀ − lse),   dP = do vᵀ,   dS = P (dP − delta),   delta = rowsum(do · out)

    dq = scale · dS k               one program for each tile of queries, walking over its keys
    dk = scale · dSᵀ q, dv = Pᵀ do  one program for each tile of keys, walking over its queries and over
                                    the query heads of the group, so that no sum leaves the program

Neither P nor dS is ever stored. Computing both twice costs two of seven products and saves all atomics:
every sum has a fixed order. The other way is in triton_atomics.py; notes.md compares them.

A document is an interval of tokens, so a query's visible keys are an interval too, [first, query], and
a key's visible queries are [key, last). Tiles need not know where documents begin.
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
def grad_query_kernel(
    grad_output_ptr,
    q_ptr,
    k_ptr,
    v_ptr,
    lse_ptr,
    delta_ptr,
    first_ptr,
    dq_ptr,
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
    """One program: dq for BLOCK_M queries of one head."""
    # Late queries see the most keys: their programs start first, so that none of them ends alone.
    start = (tl.num_programs(0) - 1 - tl.program_id(0)) * BLOCK_M
    head = tl.program_id(1).to(tl.int64)
    grad_output_ptr += head * grad_output_head
    q_ptr += head * q_head
    k_ptr += head // GROUP * k_head
    v_ptr += head // GROUP * v_head

    q = _tile(q_ptr, start, q_token, q_dim, T, D, BLOCK_M, BLOCK_D)
    do = _tile(grad_output_ptr, start, grad_output_token, grad_output_dim, T, D, BLOCK_M, BLOCK_D)
    queries = start + tl.arange(0, BLOCK_M)
    lse_at = lse_ptr + head * lse_head + queries.to(tl.int64) * lse_token
    lse = tl.load(lse_at, mask=queries < T, other=0.0) * LOG2_E
    delta = tl.load(delta_ptr + head * T + queries, mask=queries < T, other=0.0)
    # T for a query without a document: no key is that late.
    first = tl.load(first_ptr + queries, mask=queries < T, other=T)
    earliest = tl.min(first, axis=0)

    dq = tl.zeros((BLOCK_M, BLOCK_D), dtype=tl.float32)
    for at in range(earliest // BLOCK_N * BLOCK_N, tl.minimum(start + BLOCK_M, T), BLOCK_N):
        k = _tile(k_ptr, at, k_token, k_dim, T, D, BLOCK_N, BLOCK_D)
        v = _tile(v_ptr, at, v_token, v_dim, T, D, BLOCK_N, BLOCK_D)
        p = tl.exp2(tl.dot(q, tl.trans(k)) * (scale * LOG2_E) - lse[:, None])
        within = tl.arange(0, BLOCK_N)[None, :]
        visible = (within >= (first - at)[:, None]) & (within <= (queries - at)[:, None])
        p = tl.where(visible, p, 0.0)
        ds = p * (tl.dot(do, tl.trans(v)) - delta[:, None])
        dq = tl.dot(ds.to(k.dtype), k, dq)
    heads = tl.num_programs(1)
    _store(dq_ptr + head * D, dq * scale, start, heads, T, D, BLOCK_M, BLOCK_D)


@triton.jit
def grad_key_value_kernel(
    grad_output_ptr,
    q_ptr,
    k_ptr,
    v_ptr,
    lse_ptr,
    delta_ptr,
    last_ptr,
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
    """One program: dk and dv for BLOCK_N keys of one key-value head, over the query heads of its group.

    Keys are the rows of P here, so that Pᵀ and dSᵀ come out as the products need them.
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
        dst = pt * (tl.dot(v, tl.trans(do)) - delta[None, :])
        dk = tl.dot(dst.to(q.dtype), q, dk)
    kv_heads = tl.num_programs(1)
    _store(dk_ptr + kv_head * D, dk * scale, start, kv_heads, T, D, BLOCK_N, BLOCK_D)
    _store(dv_ptr + kv_head * D, dv, start, kv_heads, T, D, BLOCK_N, BLOCK_D)


def visible_range(cu_seqlens, T):
    """For each token, where its document begins and ends, int32; (T, 0) for tokens of no document.

    On the device: nothing waits for the host, and no longest length has to be known.
    """
    tokens = torch.arange(T, dtype=torch.int32, device=cu_seqlens.device)
    after = torch.searchsorted(cu_seqlens, tokens, right=True)  # empty documents are passed over
    bounds = torch.nn.functional.pad(cu_seqlens, (0, 1))  # as if padding ended at 0
    padding = after == len(cu_seqlens)
    return torch.where(padding, T, cu_seqlens[after - 1]).int(), bounds[after]


def tiles(head_dim):
    """Queries that stay and keys that pass for dq; keys that stay and queries that pass for dk and dv.

    What stays has accumulators in registers, one for dq, two for dk and dv: wider heads leave room for
    fewer rows.
    """
    return (128, 64, 64, 64) if head_dim <= 128 else (64, 32, 32, 32)


def backward(grad_output, q, k, v, out, lse, cu_seqlens):
    """grad_output, q, out (T, H·G, D), k, v (T, H, D): bfloat16; lse (H·G, T) float32; any strides.

    Returns dq (T, H·G, D), dk and dv (T, H, D) in bfloat16. The same bits every time.
    """
    (T, heads, D), kv_heads = q.shape, k.shape[1]
    dq = torch.empty((T, heads, D), dtype=q.dtype, device=q.device)
    dk = torch.empty((T, kv_heads, D), dtype=k.dtype, device=k.device)
    dv = torch.empty((T, kv_heads, D), dtype=v.dtype, device=v.device)
    delta = torch.empty((heads, T), dtype=torch.float32, device=q.device)
    first, last = visible_range(cu_seqlens, T)
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
    given = (grad_output, q, k, v, lse, delta)
    strides = (*grad_output.stride(), *q.stride(), *k.stride(), *v.stride(), *lse.stride())
    sizes = (T, D, D**-0.5)
    STAYS_Q, PASSES_K, STAYS_K, PASSES_Q = tiles(BLOCK_D)
    options = {"GROUP": heads // kv_heads, "BLOCK_D": BLOCK_D, "num_warps": 8, "num_stages": 2}
    grad_query_kernel[(triton.cdiv(T, STAYS_Q), heads)](
        *given, first, dq, *sizes, *strides, BLOCK_M=STAYS_Q, BLOCK_N=PASSES_K, **options
    )
    grad_key_value_kernel[(triton.cdiv(T, STAYS_K), kv_heads)](
        *given, last, dk, dv, *sizes, *strides, BLOCK_N=STAYS_K, BLOCK_M=PASSES_Q, **options
    )
    return dq, dk, dv
