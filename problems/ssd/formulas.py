"""SSD in either direction, chunk by chunk, in steps that can be replaced by wrong ones.

Heads are split into groups and heads of a group: (S, T, G·R, …) becomes (S, G, R, T, …).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from problems.spec import Gradients

T = torch.Tensor

CHUNK = 64  # steps


@dataclass(frozen=True)
class Chunk:
    """L steps: `dy`, `x` (S, G, R, L, P), `dt`, `log_decay` (S, G, R, L), `B`, `C` (S, G, 1, L, N)."""

    dy: T
    x: T
    dt: T
    log_decay: T
    B: T
    C: T


@dataclass(frozen=True)
class Decays:
    """What is left, within a chunk, of a state from one step to another.

    `pairs` (…, L, L) at step i (row) of what came in at step j (column), 0 for j > i; `since` (…, L) at
    step i of the state before the chunk; `left` (…, L) after the chunk of what came in at step j;
    `whole` (…) after the chunk of the state before it.
    """

    pairs: T
    since: T
    left: T
    whole: T


@dataclass(frozen=True)
class Crossings:
    """The products <gradient, value> of all paths, to be added up for each step that they cross.

    `pairs` (…, L, L) from step j (column) to step i (row); `arriving` (…, L) from before the chunk to
    step i; `leaving` (…, L) from step j to after the chunk; `through` (…) from before it to after it.
    """

    pairs: T
    arriving: T
    leaving: T
    through: T


def by_heads(x: T, groups: int) -> T:
    """(S, T, G·R, …) as (S, G, R, T, …)."""
    split = x.reshape(*x.shape[:2], groups, -1, *x.shape[3:])
    return split.movedim(1, 3)


def by_steps(x: T) -> T:
    """(S, G, R, T, …) as (S, T, G·R, …), contiguous."""
    return x.movedim(3, 1).flatten(2, 3).contiguous()


def backwards(x: T) -> T:
    """The sum from each step to the last, along the last dimension."""
    return x.flip(-1).cumsum(-1).flip(-1)


def scanned(x: T, dt: T, A: T, B: T, C: T) -> T:
    """`h[t] = exp(dt[t] · A) h[t-1] + dt[t] · B[t] x[t]ᵀ` from zero, and `y[t] = h[t]ᵀ C[t]`."""
    groups = B.shape[2]
    values, steps = by_heads(x, groups), by_heads(dt, groups)
    keys, queries = (by_heads(m, groups) for m in (B, C))
    decay = (by_heads(dt * A, groups)).exp()
    state = torch.zeros_like(keys[..., :1, :].mT * values[..., :1, :])
    out = []
    for t in range(x.shape[1]):
        new = (steps[..., t, None] * keys[..., t, :])[..., None] * values[..., t, None, :]
        state = decay[..., t, None, None] * state + new
        out.append((queries[..., t, None, :] @ state)[..., 0, :])
    return by_steps(torch.stack(out, dim=3))


def decays_of(log_decay: T) -> Decays:
    """Sums of logarithms from the chunk's beginning, and the exponentials of their differences."""
    total = log_decay.cumsum(-1)
    between = total[..., :, None] - total[..., None, :]
    later = torch.ones_like(between, dtype=torch.bool).triu(1)
    return Decays(
        pairs=between.masked_fill(later, -torch.inf).exp(),
        since=total.exp(),
        left=(total[..., -1:] - total).exp(),
        whole=total[..., -1].exp(),
    )


def crossed(c: Crossings) -> T:
    """For each step t: all paths that begin before t and end at t or later. Nothing is subtracted."""
    from_before = c.pairs.cumsum(-1) - c.pairs  # paths to step i that begin before step t
    inside = from_before.tril().sum(-2)
    before = c.leaving.cumsum(-1) - c.leaving
    return inside + backwards(c.arriving) + before + c.through[..., None]


def summed_over_group(x: T) -> T:
    """(S, G, R, …) as (S, G, …)."""
    return x.sum(2)


def same(x: T) -> T:
    return x


@dataclass(frozen=True)
class Steps:
    """What leads from the arguments to the gradients. The defaults are right.

    `rounded` is what happens to matrices before they enter a product. `arriving` is applied to the state
    that reaches a chunk, `returning` to the gradient of the state that leaves it, `kept` to what decays
    it while it passes the chunk backwards.
    """

    chunk: int = CHUNK
    decays: Callable[[T], Decays] = decays_of
    arriving: Callable[[T], T] = same
    returning: Callable[[T], T] = same
    kept: Callable[[T], T] = same
    over_group: Callable[[T], T] = summed_over_group
    dx_scale: Callable[[T], T] = same
    key_scale: Callable[[T], T] = same
    log_decay: Callable[[Crossings], T] = crossed
    ddt: Callable[[T, T], T] = torch.add
    over_steps: Callable[[T, T], T] = lambda dt, dlog: (dt * dlog).sum((0, 3))
    rounded: Callable[[T], T] = same

    def backward(self, grad_output: T, x: T, dt: T, A: T, B: T, C: T) -> Gradients:
        """dx (S, T, H, P), ddt (S, T, H), dA (H,), dB and dC (S, T, G, N)."""
        chunks = self.cut(grad_output, x, dt, A, B, C)
        decays = [self.decays(c.log_decay) for c in chunks]
        states = self.states(chunks, decays)
        futures = self.futures(chunks, decays)
        parts = [self.of_chunk(*of) for of in zip(chunks, decays, states, futures, strict=True)]
        dx, direct, dlog, dB, dC = (torch.cat(p, dim=3) for p in zip(*parts, strict=True))
        of_heads = by_heads(dt, B.shape[2])
        ddt = self.ddt(direct, A.reshape(B.shape[2], -1)[..., None] * dlog)
        dA = self.over_steps(of_heads, dlog).flatten()
        return by_steps(dx), by_steps(ddt), dA, by_steps(dB), by_steps(dC)

    def cut(self, grad_output: T, x: T, dt: T, A: T, B: T, C: T) -> list[Chunk]:
        of_heads = (by_heads(t, B.shape[2]) for t in (grad_output, x, dt, dt * A, B, C))
        pieces = [torch.split(t, self.chunk, dim=3) for t in of_heads]
        return [Chunk(*piece) for piece in zip(*pieces, strict=True)]

    def states(self, chunks: Sequence[Chunk], decays: Sequence[Decays]) -> list[T]:
        """The state (S, G, R, N, P) before each chunk: from the first to the last."""
        c = chunks[0]
        state = torch.zeros_like(c.B[..., :1, :].mT * c.x[..., :1, :])
        found = []
        for c, d in zip(chunks, decays, strict=True):
            found.append(self.arriving(state))
            new = c.B.mT @ self.rounded((d.left * c.dt)[..., None] * c.x)
            state = d.whole[..., None, None] * found[-1] + new
        return found

    def futures(self, chunks: Sequence[Chunk], decays: Sequence[Decays]) -> list[T]:
        """The gradient of the state after each chunk: from the last to the first."""
        c = chunks[0]
        future = torch.zeros_like(c.B[..., :1, :].mT * c.x[..., :1, :])
        found = []
        for c, d in zip(reversed(chunks), reversed(decays), strict=True):
            found.append(self.returning(future))
            new = c.C.mT @ self.rounded(d.since[..., None] * c.dy)
            future = self.kept(d.whole)[..., None, None] * found[-1] + new
        return found[::-1]

    def of_chunk(self, c: Chunk, d: Decays, state: T, future: T) -> tuple[T, T, T, T, T]:
        """dx, the direct part of ddt, the log decays' gradient, dB and dC, each (S, G, R or 1, L, …)."""
        state, future = self.rounded(state), self.rounded(future)
        weights = (c.C @ c.B.mT) * d.pairs
        dweights = (c.dy @ c.x.mT) * d.pairs * self.key_scale(c.dt)[..., None, :]
        later = d.left[..., None] * (c.B @ future)
        dvalue = self.rounded(weights).mT @ c.dy + later  # of dt · x
        earlier = self.rounded(d.since[..., None] * c.dy) @ state.mT
        kept = self.rounded((d.left * self.key_scale(c.dt))[..., None] * c.x)
        dC = self.rounded(dweights) @ c.B + earlier
        dB = self.rounded(dweights).mT @ c.C + kept @ future.mT
        crossings = Crossings(
            pairs=weights * (c.dy @ c.x.mT) * c.dt[..., None, :],
            arriving=(earlier * c.C).sum(-1),
            leaving=c.dt * (later * c.x).sum(-1),
            through=d.whole * (state * future).sum((-2, -1)),
        )
        return (
            self.dx_scale(c.dt)[..., None] * dvalue,
            (dvalue * c.x).sum(-1),
            self.log_decay(crossings),
            self.over_group(dB)[:, :, None],
            self.over_group(dC)[:, :, None],
        )


def rounded_to_bfloat16(x: T) -> T:
    """What a tensor core takes of a float32 matrix."""
    return x.bfloat16().float()


def in_low_precision(steps: Steps, arguments: dict[str, T]) -> Gradients:
    """`steps` in float32 on the arguments; dx, dB and dC in bfloat16."""
    dx, ddt, dA, dB, dC = steps.backward(**{n: t.float() for n, t in arguments.items()})
    return dx.bfloat16(), ddt, dA, dB.bfloat16(), dC.bfloat16()
