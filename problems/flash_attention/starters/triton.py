"""Attention, backward. Two TODOs stand between this file and correct gradients."""

import torch
import triton
import triton.language as tl


@triton.jit
def rows_of(ptr, tokens, stride_token, stride_dim, T, D, BLOCK_D: tl.constexpr):
    """A tile of one head: the rows `tokens`, zero beyond the ends."""
    dims = tl.arange(0, BLOCK_D)
    at = tokens.to(tl.int64)[:, None] * stride_token + dims[None, :] * stride_dim
    return tl.load(ptr + at, mask=(tokens[:, None] < T) & (dims[None, :] < D), other=0.0)


@triton.jit
def dq_kernel(
    do_ptr, q_ptr, k_ptr, v_ptr, lse_ptr, first_ptr, dq_ptr,
    T, D, scale,
    do_t, do_h, do_d, q_t, q_h, q_d, k_t, k_h, k_d, v_t, v_h, v_d, lse_h, lse_t,
    GROUP: tl.constexpr, BLOCK: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    """A tile of queries of one head against all keys that they see."""
    head = tl.program_id(1)
    start = tl.program_id(0) * BLOCK
    queries = start + tl.arange(0, BLOCK)
    q = rows_of(q_ptr + head * q_h, queries, q_t, q_d, T, D, BLOCK_D)
    do = rows_of(do_ptr + head * do_h, queries, do_t, do_d, T, D, BLOCK_D)
    lse = tl.load(lse_ptr + head * lse_h + queries * lse_t, mask=queries < T, other=0.0)
    first = tl.load(first_ptr + queries, mask=queries < T, other=T)

    dq = tl.zeros((BLOCK, BLOCK_D), dtype=tl.float32)
    for at in range(0, start + BLOCK, BLOCK):
        keys = at + tl.arange(0, BLOCK)
        k = rows_of(k_ptr + head // GROUP * k_h, keys, k_t, k_d, T, D, BLOCK_D)
        v = rows_of(v_ptr + head // GROUP * v_h, keys, v_t, v_d, T, D, BLOCK_D)
        p = tl.exp(tl.dot(q, tl.trans(k)) * scale - lse[:, None])
        visible = (first[:, None] <= keys[None, :]) & (keys[None, :] <= queries[:, None])
        p = tl.where(visible, p, 0.0)
        # TODO 1: the softmax has a second term: one number for each query. See grad_output and out.
        ds = p * tl.dot(do, tl.trans(v))
        dq = tl.dot(ds.to(k.dtype), k, dq)

    dims = tl.arange(0, BLOCK_D)
    at = (queries.to(tl.int64)[:, None] * tl.num_programs(1) + head) * D + dims[None, :]
    stored = (queries[:, None] < T) & (dims[None, :] < D)
    tl.store(dq_ptr + at, (dq * scale).to(dq_ptr.dtype.element_ty), mask=stored)


@triton.jit
def dk_dv_kernel(
    do_ptr, q_ptr, k_ptr, v_ptr, lse_ptr, first_ptr, dk_ptr, dv_ptr,
    T, D, scale,
    do_t, do_h, do_d, q_t, q_h, q_d, k_t, k_h, k_d, v_t, v_h, v_d, lse_h, lse_t,
    GROUP: tl.constexpr, BLOCK: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    """A tile of keys of one key-value head against all queries that see them."""
    kv_head = tl.program_id(1)
    start = tl.program_id(0) * BLOCK
    keys = start + tl.arange(0, BLOCK)
    k = rows_of(k_ptr + kv_head * k_h, keys, k_t, k_d, T, D, BLOCK_D)
    v = rows_of(v_ptr + kv_head * v_h, keys, v_t, v_d, T, D, BLOCK_D)

    dk = tl.zeros((BLOCK, BLOCK_D), dtype=tl.float32)
    dv = tl.zeros((BLOCK, BLOCK_D), dtype=tl.float32)
    # TODO 2: this is the first query head of the group. All GROUP of them used these keys and values.
    head = kv_head * GROUP
    for at in range(start, T, BLOCK):
        queries = at + tl.arange(0, BLOCK)
        q = rows_of(q_ptr + head * q_h, queries, q_t, q_d, T, D, BLOCK_D)
        do = rows_of(do_ptr + head * do_h, queries, do_t, do_d, T, D, BLOCK_D)
        lse = tl.load(lse_ptr + head * lse_h + queries * lse_t, mask=queries < T, other=0.0)
        first = tl.load(first_ptr + queries, mask=queries < T, other=T)
        p = tl.exp(tl.dot(q, tl.trans(k)) * scale - lse[:, None])
        visible = (first[:, None] <= keys[None, :]) & (keys[None, :] <= queries[:, None])
        p = tl.where(visible, p, 0.0)
        dv = tl.dot(tl.trans(p.to(do.dtype)), do, dv)
        ds = p * tl.dot(do, tl.trans(v))  # TODO 1, here too
        dk = tl.dot(tl.trans(ds.to(q.dtype)), q, dk)

    dims = tl.arange(0, BLOCK_D)
    at = (keys.to(tl.int64)[:, None] * tl.num_programs(1) + kv_head) * D + dims[None, :]
    stored = (keys[:, None] < T) & (dims[None, :] < D)
    tl.store(dk_ptr + at, (dk * scale).to(dk_ptr.dtype.element_ty), mask=stored)
    tl.store(dv_ptr + at, dv.to(dv_ptr.dtype.element_ty), mask=stored)


def backward(grad_output, q, k, v, out, lse, cu_seqlens):
    """Gradients of causal attention within each packed document.

    grad_output  (T, H*G, D) bfloat16, any strides: the gradient of the loss with respect to out
    q            (T, H*G, D) bfloat16, any strides: query head h belongs to key-value head h // G
    k            (T, H, D)   bfloat16, any strides
    v            (T, H, D)   bfloat16, any strides
    out          (T, H*G, D) bfloat16, saved by forward
    lse          (H*G, T)    float32, saved by forward: log-sum-exp of each query's scaled scores
    cu_seqlens   (S+1,)      int32: document s has the tokens cu_seqlens[s] to cu_seqlens[s + 1] - 1

    Returns dq (T, H*G, D), dk and dv (T, H, D), bfloat16.
    """
    (T, heads, D), kv_heads = q.shape, k.shape[1]
    dq = torch.empty((T, heads, D), dtype=q.dtype, device=q.device)
    dk = torch.empty((T, kv_heads, D), dtype=k.dtype, device=k.device)
    dv = torch.empty((T, kv_heads, D), dtype=v.dtype, device=v.device)

    # Where the document of each token begins; beyond all keys for a token of no document.
    tokens = torch.arange(T, dtype=torch.int32, device=q.device)
    after = torch.searchsorted(cu_seqlens, tokens, right=True)
    first = torch.where(after == len(cu_seqlens), T, cu_seqlens[after - 1]).int()

    strides = (*grad_output.stride(), *q.stride(), *k.stride(), *v.stride(), *lse.stride())
    sizes = {
        "GROUP": heads // kv_heads,
        "BLOCK": 64,
        "BLOCK_D": max(16, triton.next_power_of_2(D)),
    }
    given = (grad_output, q, k, v, lse, first)
    tiles = triton.cdiv(T, 64)
    dq_kernel[(tiles, heads)](*given, dq, T, D, D**-0.5, *strides, **sizes)
    dk_dv_kernel[(tiles, kv_heads)](*given, dk, dv, T, D, D**-0.5, *strides, **sizes)
    return dq, dk, dv
