"""Causal grouped-query attention over packed documents, backward, in plain PyTorch: a block of queries
at a time, against the keys up to the block's end and no further.

See notes.md for what each line costs.
"""

import torch

BLOCK = 128  # queries: their scores against a thousand keys, 512 KB a head, stay in a core's cache


def heads_first(x, kv_heads):
    """(b, H·G, D) as (H, G · b, D) in float32: a group's queries are rows of one matrix."""
    return x.unflatten(1, (kv_heads, -1)).permute(1, 2, 0, 3).flatten(1, 2).float()


def block_gradients(do, q, k, v, delta, lse, rows):
    """dq, and what `rows` queries add to dk and dv; all (H, ·, D), the last `rows` keys their own."""
    scale = q.shape[-1] ** -0.5
    p = torch.baddbmm(lse, q, k.mT, beta=-1, alpha=scale)
    future = torch.ones(rows, rows, dtype=torch.bool, device=q.device).triu(1)
    p.unflatten(1, (-1, rows))[..., -rows:].masked_fill_(future, -torch.inf)
    p.exp_()
    dv = p.mT @ do  # contracts over the queries of all heads of the group: their sum, for nothing
    ds = torch.baddbmm(delta, do, v.mT, beta=-1).mul_(p)
    return scale * (ds @ k), scale * (ds.mT @ q), dv


def backward(grad_output, q, k, v, out, lse, cu_seqlens):
    """grad_output, q, out (T, H·G, D), k, v (T, H, D): bfloat16; lse (H·G, T) float32; any strides.

    Returns dq (T, H·G, D), dk and dv (T, H, D) in bfloat16.
    """
    H = k.shape[1]
    dq = torch.zeros(q.shape, dtype=q.dtype, device=q.device)
    dk, dv = (torch.zeros(k.shape, dtype=torch.float32, device=k.device) for _ in range(2))
    begins, lengths = cu_seqlens[:-1].tolist(), cu_seqlens.diff().tolist()
    for begin, length in zip(begins, lengths, strict=True):
        end = begin + length
        keys, values = heads_first(k[begin:end], H), heads_first(v[begin:end], H)
        for start in range(begin, end, BLOCK):
            stop = min(start + BLOCK, end)
            block, seen = slice(start, stop), stop - begin
            do = heads_first(grad_output[block], H)
            delta = (do * heads_first(out[block], H)).sum(-1, keepdim=True)
            of_q, of_k, of_v = block_gradients(
                do,
                heads_first(q[block], H),
                keys[:, :seen],
                values[:, :seen],
                delta,
                lse[:, block].unflatten(0, (H, -1)).flatten(1)[..., None],
                stop - start,
            )
            dq[block] = of_q.unflatten(1, (-1, stop - start)).permute(2, 0, 1, 3).flatten(1, 2)
            dk[begin:stop] += of_k.transpose(0, 1)
            dv[begin:stop] += of_v.transpose(0, 1)
    return dq, dk.to(k.dtype), dv.to(v.dtype)
