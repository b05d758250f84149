"""State space duality, backward, in plain PyTorch: all chunks at once, a loop for the states alone.

See notes.md for what each line costs.
"""

import torch
import torch.nn.functional as F

CHUNK = 64  # steps: matrices of 64 × 64 for each head and chunk, none of T × T


def in_chunks(m, groups):
    """(S, T, H, …) as (S, chunks, G, R, CHUNK, …) in float32; what is beyond the end is zero."""
    missing = -m.shape[1] % CHUNK
    m = F.pad(m.float(), (*(0, 0) * (m.dim() - 2), 0, missing))
    return m.unflatten(1, (-1, CHUNK)).unflatten(3, (groups, -1)).movedim(2, 4)


def in_steps(m, steps):
    """(S, chunks, G, R, CHUNK, …) as (S, T, H, …), contiguous."""
    return m.movedim(4, 2).flatten(3, 4).flatten(1, 2)[:, :steps].contiguous()


def passed(new, decay):
    """What reaches each chunk of `new` (S, chunks, …) from those before it, one after the other."""
    reaching = torch.zeros_like(new)
    for c in range(1, new.shape[1]):
        torch.addcmul(new[:, c - 1], decay[:, c - 1], reaching[:, c - 1], out=reaching[:, c])
    return reaching


def backward(grad_output, x, dt, A, B, C):
    """grad_output, x (S, T, H, P), B, C (S, T, G, N): bfloat16; dt (S, T, H), A (H,): float32.

    Any strides. Returns dx, ddt, dA, dB and dC in the shapes and dtypes of theirs.
    """
    T, G = x.shape[1], B.shape[2]
    dy, xs, steps, keys, queries = (in_chunks(m, G) for m in (grad_output, x, dt, B, C))
    rate = A.unflatten(0, (G, -1))[..., None]

    # A step beyond the end has dt = 0: it lets every state pass as it is, and adds nothing.
    total = (steps * rate).cumsum(-1)
    later = torch.ones(CHUNK, CHUNK, dtype=torch.bool, device=x.device).triu(1)
    decay = (total[..., None] - total[..., None, :]).masked_fill_(later, -torch.inf).exp_()
    since, left = total.exp()[..., None], (total[..., -1:] - total).exp()[..., None]
    whole = since[..., -1:, :]

    # The state before each chunk; the gradient of the one after, which is the same pass in reverse.
    state = passed(keys.mT @ (left * steps[..., None] * xs), whole)
    future = passed((queries.mT @ (since * dy)).flip(1), whole.flip(1)).flip(1)

    scores = queries @ keys.mT  # of all heads of a group
    pairs = (dy @ xs.mT).mul_(decay).mul_(steps[..., None, :])
    leaving = left * (keys @ future)
    value = (scores * decay).mT @ dy + leaving
    arriving = (since * dy) @ state.mT
    of_group = pairs.sum(3, keepdim=True)
    dC = of_group @ keys + arriving.sum(3, keepdim=True)
    dB = of_group.mT @ queries
    dB += ((left * steps[..., None] * xs) @ future.mT).sum(3, keepdim=True)

    # A decay's gradient: the paths that end at its step or later, less those that begin there.
    crossing = (scores * pairs).tril_(-1)
    leaving = steps * (leaving * xs).sum(-1)
    ends = crossing.sum(-1) - crossing.sum(-2) + (arriving * queries).sum(-1) - leaving
    dlog = ends.flip(-1).cumsum(-1).flip(-1) + leaving.sum(-1, keepdim=True)
    dlog += (whole * state * future).sum((-2, -1))[..., None]
    ddt = (value * xs).sum(-1) + rate * dlog
    dA = (steps * dlog).sum((0, 1, 4)).flatten()
    dx = in_steps(steps[..., None] * value, T).to(x.dtype)
    return dx, in_steps(ddt, T), dA, in_steps(dB, T).to(B.dtype), in_steps(dC, T).to(C.dtype)
