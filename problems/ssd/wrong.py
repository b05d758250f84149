"""Steps of SSD's backward as wrong kernels take them, for its mutants."""

from __future__ import annotations

from dataclasses import replace

import torch

from problems.mutants import lose_updates
from problems.spec import Gradients
from problems.ssd import mistakes
from problems.ssd.formulas import (
    CHUNK,
    Crossings,
    Decays,
    Steps,
    backwards,
    crossed,
    decays_of,
    rounded_to_bfloat16,
    scanned,
)
from problems.ssd.problem import PROBLEM

T = torch.Tensor


def by_quotients(log_decay: T) -> Decays:
    """exp(a − b) as a quotient of exponentials, both of which underflow."""
    d = decays_of(log_decay)
    quotients = d.since[..., :, None] / d.since[..., None, :]
    left = d.since[..., -1:] / d.since
    return replace(d, pairs=quotients.tril(), left=left)


def masked_afterwards(log_decay: T) -> Decays:
    """The exponential of everything, times a mask: infinity times zero above the diagonal."""
    total = log_decay.cumsum(-1)
    everything = (total[..., :, None] - total[..., None, :]).exp()
    mask = torch.ones_like(everything).tril()
    return replace(decays_of(log_decay), pairs=everything * mask)


def not_causal(log_decay: T) -> Decays:
    total = log_decay.cumsum(-1)
    everything = (total[..., :, None] - total[..., None, :]).exp().clamp(max=1.0)
    return replace(decays_of(log_decay), pairs=everything)


def logarithms_in_bfloat16(log_decay: T) -> Decays:
    total = log_decay.cumsum(-1).bfloat16().float()
    return decays_of(torch.diff(total, prepend=torch.zeros_like(total[..., :1])))


def blocks_of_columns(c: Crossings) -> T:
    """Within the chunk, paths from blocks of 16 steps before the last one are left out."""
    steps = torch.arange(c.pairs.shape[-1]) // 16
    near = (steps[:, None] - steps[None, :]) < 1
    return crossed(replace(c, pairs=c.pairs * near))


def not_run_back(c: Crossings) -> T:
    """What ends at a step counts for its own decay alone."""
    return crossed(replace(c, arriving=torch.zeros_like(c.arriving))) + c.arriving


def from_outputs(**given: T) -> Gradients:
    """The log decays' gradient as a running sum of <dy, y> − <x, dx>: small, as a difference of large.

    y and dx are what forward saved and what backward returns, in bfloat16.
    """
    dx, ddt, _, dB, dC = PROBLEM.baseline(**given)
    wide = {n: t.float() for n, t in given.items()}
    dy, x, dt, A = (wide[n] for n in ("grad_output", "x", "dt", "A"))
    y = scanned(x, dt, A, wide["B"], wide["C"]).bfloat16().float()
    ends = (dy * y).sum(-1) - (x * dx.float()).sum(-1)
    dlog = backwards(ends.mT).mT
    direct = ddt - A * _right_dlog(wide)
    return dx, direct + A * dlog, (dt * dlog).sum((0, 1)), dB, dC


def _right_dlog(wide: dict[str, T]) -> T:
    """The log decays' gradient (S, T, H) in float32."""
    found: list[T] = []

    def keeping(dt: T, dlog: T) -> T:
        found.append(dlog)
        return (dt * dlog).sum((0, 3))

    Steps(rounded=rounded_to_bfloat16, over_steps=keeping).backward(**wide)
    return found[0].movedim(3, 1).flatten(2, 3)


def racing(x: T) -> T:
    return lose_updates(x).sum(2)


def sequences_in_one_row(**given: T) -> Gradients:
    """All sequences as one: each begins with the state of the one before."""
    row = {n: t if n == "A" else t.reshape(1, -1, *t.shape[2:]) for n, t in given.items()}
    dx, ddt, dA, dB, dC = PROBLEM.baseline(**row)
    shaped = zip((dx, ddt, dB, dC), ("x", "dt", "B", "C"), strict=True)
    dx, ddt, dB, dC = (g.reshape(given[name].shape) for g, name in shaped)
    return dx, ddt, dA, dB, dC


def of_the_head_before(state: T) -> T:
    return state.flatten(1, 2).roll(1, dims=1).reshape(state.shape)


def of_one_sequence(dt: T, dlog: T) -> T:
    return (dt * dlog)[-1:].sum((0, 3))


def of_the_last_chunk(dt: T, dlog: T) -> T:
    last = (dt.shape[-1] - 1) // CHUNK * CHUNK
    return (dt * dlog)[..., last:].sum((0, 3))


def swapped(**given: T) -> Gradients:
    dx, ddt, dA, dB, dC = PROBLEM.baseline(**given)
    return dx, ddt, dA, dC, dB


def turned(**given: T) -> Gradients:
    wide = {n: t.float() for n, t in given.items()}
    dx, ddt, dA, dB, dC = mistakes.heads_in_turn(**wide)
    return dx.bfloat16(), ddt, dA, dB.bfloat16(), dC.bfloat16()
