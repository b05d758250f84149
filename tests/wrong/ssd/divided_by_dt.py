# expect: wrong_gradient
"""Has the direct part of ddt from dx, divided by dt, which may be 0."""

import torch


def backward(grad_output, x, dt, A, B, C):
    (S, T, H, P), (G, N) = x.shape, B.shape[2:]
    dy, xs = grad_output.float(), x.float()
    keys, queries = (m.float().repeat_interleave(H // G, dim=2) for m in (B, C))
    dx, ddt, dA = torch.zeros(x.shape), torch.zeros(dt.shape), torch.zeros(H)
    dkeys, dqueries = torch.zeros(keys.shape), torch.zeros(keys.shape)
    states = [torch.zeros(S, H, N, P)]
    for t in range(T):
        decay = torch.exp(dt[:, t] * A)[..., None, None]
        new = (dt[:, t, :, None] * keys[:, t])[..., None] * xs[:, t, :, None, :]
        states.append(decay * states[-1] + new)
        dqueries[:, t] = (states[-1] @ dy[:, t, :, :, None])[..., 0]
    g = torch.zeros(S, H, N, P)
    for t in range(T - 1, -1, -1):
        g = g + queries[:, t, :, :, None] * dy[:, t, :, None, :]
        of_x = (keys[:, t, :, None, :] @ g)[..., 0, :]
        dx[:, t] = dt[:, t, :, None] * of_x
        dkeys[:, t] = dt[:, t, :, None] * (g @ xs[:, t, :, :, None])[..., 0]
        g = torch.exp(dt[:, t] * A)[..., None, None] * g
        dlog = (g * states[t]).sum((-2, -1))
        ddt[:, t] = (dx[:, t] * xs[:, t]).sum(-1) / dt[:, t] + A * dlog
        dA += (dt[:, t] * dlog).sum(0)
    dB, dC = (m.unflatten(2, (G, -1)).sum(3) for m in (dkeys, dqueries))
    return dx.bfloat16(), ddt, dA, dB.bfloat16(), dC.bfloat16()
