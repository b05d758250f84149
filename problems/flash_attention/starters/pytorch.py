"""Attention, backward. Two TODOs stand between this file and correct gradients."""

from itertools import pairwise

import torch


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
    H = k.shape[1]
    scale = q.shape[-1] ** -0.5
    dq, dk, dv = (torch.zeros(x.shape, dtype=x.dtype) for x in (q, k, v))
    for begin, end in pairwise(cu_seqlens.tolist()):
        # This makes all probabilities of a document at once. It is right, but not yet Flash.
        rows = slice(begin, end)
        do, queries, keys, values = (
            x[rows].float().unflatten(1, (H, -1)).permute(1, 2, 0, 3)
            for x in (grad_output, q, k, v)
        )
        future = torch.ones(end - begin, end - begin, dtype=torch.bool).triu(1)
        scores = (queries @ keys.mT) * scale - lse[:, rows].unflatten(0, (H, -1))[..., None]
        p = scores.masked_fill(future, -torch.inf).exp()
        # TODO 1: the softmax has a second term: one number for each query.
        ds = p * (do @ values.mT)
        dq[rows] = (scale * (ds @ keys)).permute(2, 0, 1, 3).flatten(1, 2)
        # TODO 2: this is the first query head of each group. All of them used the key and the value.
        dk[rows] = (scale * (ds.mT @ queries))[:, 0].transpose(0, 1)
        dv[rows] = (p.mT @ do)[:, 0].transpose(0, 1)
    return dq, dk, dv
