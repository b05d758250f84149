"""State space duality, backward. Two TODOs stand between this file and correct gradients."""

import torch


def backward(grad_output, x, dt, A, B, C):
    """Gradients of h[t] = exp(dt[t] A) h[t-1] + dt[t] B[t] x[t]^T, y[t] = h[t]^T C[t], from h[-1] = 0.

    grad_output  (S, T, H, P) bfloat16, any strides: the gradient of the loss with respect to y
    x            (S, T, H, P) bfloat16, any strides
    dt           (S, T, H)    float32, any strides: 0 or more
    A            (H,)         float32: negative
    B            (S, T, G, N) bfloat16, any strides: head h belongs to group h // (H // G)
    C            (S, T, G, N) bfloat16, any strides

    Returns dx (S, T, H, P), dB, dC (S, T, G, N) in bfloat16, ddt (S, T, H), dA (H,) in float32.
    """
    (S, T, H, P), G = x.shape, B.shape[2]
    dy, xs = grad_output.float(), x.float()
    keys, queries = (m.float().repeat_interleave(H // G, dim=2) for m in (B, C))
    decay = torch.exp(dt * A)
    dx, ddt = torch.empty(xs.shape), torch.empty(dt.shape)
    dkeys, dqueries = torch.empty(keys.shape), torch.empty(keys.shape)

    # Step by step: right, but slow, and it holds every state. Chunks of matrix products come later.
    states = [torch.zeros(S, H, keys.shape[-1], P)]
    for t in range(T):
        new = dt[:, t, :, None, None] * keys[:, t, :, :, None] * xs[:, t, :, None, :]
        states.append(decay[:, t, :, None, None] * states[-1] + new)
        dqueries[:, t] = (states[-1] @ dy[:, t, :, :, None])[..., 0]

    dA = torch.zeros(H)
    for t in range(T - 1, -1, -1):
        # TODO 1: h[t] also went into h[t + 1], so its gradient has a second term.
        g = queries[:, t, :, :, None] * dy[:, t, :, None, :]
        of_x = (keys[:, t, :, None, :] @ g)[..., 0, :]
        dx[:, t] = dt[:, t, :, None] * of_x
        dkeys[:, t] = dt[:, t, :, None] * (g @ xs[:, t, :, :, None])[..., 0]
        dlog = decay[:, t] * (g * states[t]).sum((-2, -1))
        # TODO 2: dt is in the decay, too: see dlog.
        ddt[:, t] = (of_x * xs[:, t]).sum(-1)
        dA += (dt[:, t] * dlog).sum(0)
    dB, dC = (m.unflatten(2, (G, -1)).sum(3).bfloat16() for m in (dkeys, dqueries))
    return dx.bfloat16(), ddt, dA, dB, dC
