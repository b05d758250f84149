# expect: wrong_gradient
"""Normalises P anew, and the tokens of no document, which see no key, by zero."""

import torch


def backward(grad_output, q, k, v, out, lse, cu_seqlens):
    H, scale = k.shape[1], q.shape[-1] ** -0.5
    dq, dk, dv = (torch.zeros(x.shape, dtype=x.dtype) for x in (q, k, v))
    document = torch.bucketize(torch.arange(len(q)), cu_seqlens, right=True)
    do, o, queries, keys, values = (
        x.float().unflatten(1, (H, -1)).permute(1, 2, 0, 3) for x in (grad_output, out, q, k, v)
    )
    hidden = torch.ones(len(q), len(q), dtype=torch.bool).triu(1)
    hidden |= (document[:, None] != document) | (document == len(cu_seqlens))
    p = ((queries @ keys.mT) * scale).masked_fill(hidden, -torch.inf).softmax(-1)
    delta = (do * o).sum(-1, keepdim=True)
    ds = p * (do @ values.mT - delta)
    dq[:] = (scale * (ds @ keys)).permute(2, 0, 1, 3).flatten(1, 2)
    dk[:] = (scale * (ds.mT @ queries)).sum(1).transpose(0, 1)
    dv[:] = (p.mT @ do).sum(1).transpose(0, 1)
    return dq, dk, dv
