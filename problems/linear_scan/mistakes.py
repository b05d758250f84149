"""The scan's backward with a part of the derivation wrong, to be recognised in submissions."""

from __future__ import annotations

import torch

from problems.linear_scan.formulas import before, scanned, scanned_back
from problems.spec import Gradients, Mistake

T = torch.Tensor


def forward_in_time(grad_output: T, a: T, h: T) -> Gradients:
    g = scanned(a, grad_output)
    return g, g * before(h)


def own_decay(grad_output: T, a: T, h: T) -> Gradients:
    """g[t] = dy[t] + a[t] · g[t+1]: the decay of the wrong step."""
    g = scanned(a.flip(1), grad_output.flip(1)).flip(1)
    return g, g * before(h)


def without_future(grad_output: T, a: T, h: T) -> Gradients:
    return grad_output.clone(), grad_output * before(h)


def own_state(grad_output: T, a: T, h: T) -> Gradients:
    g = scanned_back(a, grad_output)
    return g, g * h


def without_decay(grad_output: T, a: T, h: T) -> Gradients:
    g = grad_output.flip(1).cumsum(1).flip(1)
    return g, g * before(h)


def decayed_once_more(grad_output: T, a: T, h: T) -> Gradients:
    """The carry a · g stored for dx, and used for da, where g itself belongs."""
    carry = a * scanned_back(a, grad_output)
    return carry, carry * before(h)


MISTAKES = (
    Mistake("does not scan: what later steps pass back is missing", without_future),
    Mistake("scans forward in time: backward begins at the last step", forward_in_time),
    Mistake("decays by a[t] from step t + 1 to t, where a[t + 1] belongs", own_decay),
    Mistake("uses the state after the step; a[t] multiplied the one before", own_state),
    Mistake("adds up the future without decay", without_decay),
    Mistake("is multiplied by the decay once too often", decayed_once_more),
)
