"""Ways of computing the scan's backward that a judge must accept: chunks, and a tree."""

from __future__ import annotations

import torch

from problems.linear_scan.formulas import before
from problems.spec import Gradients

T = torch.Tensor
_CHUNK = 16


def _turned(grad_output: T, a: T) -> tuple[T, T]:
    """Decays and additions of the recurrence for g, with time turned round."""
    late = torch.cat([torch.zeros_like(a[:, :1]), a.flip(1)[:, :-1]], dim=1)
    return late, grad_output.flip(1)


def _in_chunks(grad_output: T, a: T, h: T) -> Gradients:
    """Every chunk from a state of zero, then the carry times the product of decays so far."""
    decays, new = _turned(grad_output, a)
    carry, found = torch.zeros_like(new[:, 0]), []
    for decay, add in zip(
        torch.split(decays, _CHUNK, dim=1), torch.split(new, _CHUNK, dim=1), strict=True
    ):
        state, local = torch.zeros_like(carry), []
        for d, x in zip(decay.unbind(1), add.unbind(1), strict=True):
            state = d * state + x
            local.append(state)
        part = torch.stack(local, dim=1) + decay.cumprod(1) * carry[:, None]
        found.append(part)
        carry = part[:, -1]
    g = torch.cat(found, dim=1).flip(1)
    return g.contiguous(), g * before(h)


def _as_a_tree(grad_output: T, a: T, h: T) -> Gradients:
    """Hillis and Steele's scan: after k rounds every step has seen the 2^k before it."""
    decays, states = _turned(grad_output, a)
    reach = 1
    while reach < a.shape[1]:
        seen = states[:, reach:] + decays[:, reach:] * states[:, :-reach]
        states = torch.cat([states[:, :reach], seen], dim=1)
        decays = torch.cat([decays[:, :reach], decays[:, reach:] * decays[:, :-reach]], dim=1)
        reach *= 2
    g = states.flip(1)
    return g.contiguous(), g * before(h)


HONEST = {"scan in chunks": _in_chunks, "scan as a tree": _as_a_tree}
