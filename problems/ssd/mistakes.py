"""SSD's backward with a part of the derivation wrong, to be recognised in submissions."""

from __future__ import annotations

from dataclasses import replace

import torch

from problems.spec import Gradients, Mistake
from problems.ssd.formulas import Crossings, Decays, Steps, crossed, decays_of

T = torch.Tensor


def own_step_too(log_decay: T) -> Decays:
    """What comes in at step j decays at step j already."""
    d, own = decays_of(log_decay), log_decay.exp()
    return replace(d, pairs=d.pairs * own[..., None, :], left=d.left * own)


def a_step_late(log_decay: T) -> Decays:
    """The state before a chunk reaches its first step without that step's decay."""
    d = decays_of(log_decay)
    return replace(d, since=(log_decay.cumsum(-1) - log_decay).exp())


def cumulated_forward(c: Crossings) -> T:
    """Sums from the first step on, where sums up to the last belong."""
    ends = c.pairs.tril(-1).sum(-1) - c.pairs.tril(-1).sum(-2) + c.arriving - c.leaving
    return ends.cumsum(-1) + c.leaving.sum(-1, keepdim=True) + c.through[..., None]


def inside_alone(c: Crossings) -> T:
    """The decays of states that come from another chunk, or go to one, are left out."""
    nothing = (torch.zeros_like(part) for part in (c.arriving, c.leaving, c.through))
    return crossed(Crossings(c.pairs, *nothing))


def not_through(c: Crossings) -> T:
    return crossed(replace(c, through=torch.zeros_like(c.through)))


def heads_in_turn(grad_output: T, x: T, dt: T, A: T, B: T, C: T) -> Gradients:
    """Head h takes the B and C of group h mod G."""
    heads, G = x.shape[2], B.shape[2]
    order = torch.arange(heads).reshape(-1, G).t().flatten()
    back = order.argsort()
    dx, ddt, dA, dB, dC = Steps().backward(
        grad_output[:, :, order], x[:, :, order], dt[:, :, order], A[order], B, C
    )
    return dx[:, :, back], ddt[:, :, back], dA[back], dB, dC


NO_STATES = Steps(arriving=torch.zeros_like)
NO_FUTURE = Steps(returning=torch.zeros_like)
CHUNKS_ALONE = Steps(arriving=torch.zeros_like, returning=torch.zeros_like)
FUTURE_UNDECAYED = Steps(kept=torch.ones_like)
OWN_STEP_TOO = Steps(decays=own_step_too)
A_STEP_LATE = Steps(decays=a_step_late)
CUMULATED_FORWARD = Steps(log_decay=cumulated_forward)
INSIDE_ALONE = Steps(log_decay=inside_alone)
NOT_THROUGH = Steps(log_decay=not_through)
NOT_BY_THE_DECAY = Steps(ddt=lambda direct, decay: direct)
BY_THE_DECAY_ALONE = Steps(ddt=lambda direct, decay: decay)
DECAY_WITHOUT_DT = Steps(over_steps=lambda dt, dlog: dlog.sum((0, 3)))
KEYS_WITHOUT_DT = Steps(key_scale=torch.ones_like)
DX_WITHOUT_DT = Steps(dx_scale=torch.ones_like)
FIRST_HEAD = Steps(over_group=lambda x: x[:, :, 0])
LAST_HEAD = Steps(over_group=lambda x: x[:, :, -1])
MEAN_OF_GROUP = Steps(over_group=lambda x: x.mean(2))


MISTAKES = (
    Mistake("holds the first head of each group alone, not the sum", FIRST_HEAD.backward),
    Mistake("holds the last head of each group: do heads overwrite?", LAST_HEAD.backward),
    Mistake("is the mean over the heads of each group, not the sum", MEAN_OF_GROUP.backward),
    Mistake("lacks the decay's way: dt is in exp(dt · A) too", NOT_BY_THE_DECAY.backward),
    Mistake("has the decay's way alone: dt multiplies B xᵀ too", BY_THE_DECAY_ALONE.backward),
    Mistake("lacks the factor dt: the log decay is dt · A", DECAY_WITHOUT_DT.backward),
    Mistake("lacks the factor dt of what comes in", DX_WITHOUT_DT.backward),
    Mistake("lacks the factor dt of what comes in", KEYS_WITHOUT_DT.backward),
    Mistake("lets what comes in at a step decay at that step already", OWN_STEP_TOO.backward),
    Mistake(
        "begins every chunk without a state and ends it without a gradient", CHUNKS_ALONE.backward
    ),
    Mistake("lacks the state that reaches each chunk", NO_STATES.backward),
    Mistake("lacks what later chunks pass back through the states", NO_FUTURE.backward),
    Mistake("passes gradients of states back without decay", FUTURE_UNDECAYED.backward),
    Mistake(
        "lacks the first decay of each chunk, for the state that comes in", A_STEP_LATE.backward
    ),
    Mistake("adds up from a chunk's first step, where sums run back", CUMULATED_FORWARD.backward),
    Mistake(
        "lacks the decays of states that come from or go to other chunks", INSIDE_ALONE.backward
    ),
    Mistake("lacks the states that pass a whole chunk", NOT_THROUGH.backward),
    Mistake("takes the B and C of group h mod G where h // R belongs", heads_in_turn),
)
