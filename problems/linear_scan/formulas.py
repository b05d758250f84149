"""The recurrence in either direction, one step after the other."""

from __future__ import annotations

import torch

T = torch.Tensor


def scanned(a: T, x: T) -> T:
    """`h[t] = a[t] · h[t-1] + x[t]` from `h[-1] = 0`, along dimension 1."""
    state = torch.zeros_like(x[:, 0])
    states = []
    for decay, new in zip(a.unbind(1), x.unbind(1), strict=True):
        state = decay * state + new
        states.append(state)
    return torch.stack(states, dim=1)


def scanned_back(a: T, dy: T) -> T:
    """`g[t] = dy[t] + a[t+1] · g[t+1]` from the end: the scan of what is turned round in time.

    The decay between t and t + 1 is that of t + 1, so the decays are turned round a step late.
    """
    late = torch.cat([torch.zeros_like(a[:, :1]), a.flip(1)[:, :-1]], dim=1)
    return scanned(late, dy.flip(1)).flip(1)


def before(h: T) -> T:
    """The state before each step: `h[t-1]`, zeros for the first."""
    return torch.cat([torch.zeros_like(h[:, :1]), h[:, :-1]], dim=1)
