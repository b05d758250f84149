# expect: wrong_gradient
"""Has the decays' gradient from running sums of <dy, y> - <x, dx>, which roundings hide."""

import torch


def backward(grad_output, x, dt, A, B, C):
    (S, T, H, P), (G, N) = x.shape, B.shape[2:]
    dy, xs = grad_output.float(), x.float()
    keys, queries = (m.float().repeat_interleave(H // G, dim=2) for m in (B, C))
    y, dx, direct = torch.zeros(x.shape), torch.zeros(x.shape), torch.zeros(dt.shape)
    dkeys, dqueries = torch.zeros(keys.shape), torch.zeros(keys.shape)
    h = torch.zeros(S, H, N, P)
    for t in range(T):
        new = (dt[:, t, :, None] * keys[:, t])[..., None] * xs[:, t, :, None, :]
        h = torch.exp(dt[:, t] * A)[..., None, None] * h + new
        y[:, t] = (queries[:, t, :, None, :] @ h)[..., 0, :]
        dqueries[:, t] = (h @ dy[:, t, :, :, None])[..., 0]
    g = torch.zeros(S, H, N, P)
    for t in range(T - 1, -1, -1):
        g = g + queries[:, t, :, :, None] * dy[:, t, :, None, :]
        of_x = (keys[:, t, :, None, :] @ g)[..., 0, :]
        dx[:, t] = dt[:, t, :, None] * of_x
        direct[:, t] = (of_x * xs[:, t]).sum(-1)
        dkeys[:, t] = dt[:, t, :, None] * (g @ xs[:, t, :, :, None])[..., 0]
        g = torch.exp(dt[:, t] * A)[..., None, None] * g
    ends = (dy * y.bfloat16().float()).sum(-1) - (xs * dx.bfloat16().float()).sum(-1)
    dlog = ends.flip(1).cumsum(1).flip(1)
    dB, dC = (m.unflatten(2, (G, -1)).sum(3).bfloat16() for m in (dkeys, dqueries))
    return dx.bfloat16(), direct + A * dlog, (dt * dlog).sum((0, 1)), dB, dC
