# expect: wrong_gradient
"""Takes all packed documents for one long one."""

import torch


def backward(grad_output, q, k, v, out, lse, cu_seqlens):
    H, scale = k.shape[1], q.shape[-1] ** -0.5
    dq, dk, dv = (torch.zeros(x.shape, dtype=x.dtype) for x in (q, k, v))
    for begin, end in [(0, int(cu_seqlens[-1]))]:
        rows = slice(begin, end)
        do, o, queries, keys, values = (
            x[rows].float().unflatten(1, (H, -1)).permute(1, 2, 0, 3)
            for x in (grad_output, out, q, k, v)
        )
        future = torch.ones(end - begin, end - begin, dtype=torch.bool).triu(1)
        scores = (queries @ keys.mT) * scale - lse[:, rows].unflatten(0, (H, -1))[..., None]
        p = scores.masked_fill(future, -torch.inf).exp()
        delta = (do * o).sum(-1, keepdim=True)
        ds = p * (do @ values.mT - delta)
        dq[rows] = (scale * (ds @ keys)).permute(2, 0, 1, 3).flatten(1, 2)
        dk[rows] = (scale * (ds.mT @ queries)).sum(1).transpose(0, 1)
        dv[rows] = (p.mT @ do).sum(1).transpose(0, 1)
    return dq, dk, dv
