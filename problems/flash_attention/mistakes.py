"""Attention's backward with a part of the derivation missing, to be recognised in submissions."""

from __future__ import annotations

import math

import torch

from problems.flash_attention.formulas import Document, Steps
from problems.spec import Gradients, Mistake

T = torch.Tensor


def no_delta(d: Document, p: T, dp: T) -> T:
    return torch.zeros_like(d.lse)


def up_to(offset: int) -> Steps:
    """A query sees keys up to `offset` beyond its own."""
    return Steps(visible=lambda s: torch.ones_like(s[0, 0], dtype=torch.bool).tril(offset))


def whole(cu_seqlens: T) -> T:
    """The same tokens as one document, followed by empty ones."""
    bounds = torch.full_like(cu_seqlens, int(cu_seqlens[-1]))
    bounds[0] = 0
    return bounds


def documents_ignored(**given: T) -> Gradients:
    return Steps().backward(**given | {"cu_seqlens": whole(given["cu_seqlens"])})


def heads_in_turn(**given: T) -> Gradients:
    """Query head h takes key-value head h mod H."""
    heads, H = given["q"].shape[1], given["k"].shape[1]
    order = torch.arange(heads).reshape(-1, H).t().flatten()
    turned = {n: given[n][:, order] for n in ("grad_output", "q", "out")}
    dq, dk, dv = Steps().backward(**given | turned | {"lse": given["lse"][order]})
    return dq[:, order.argsort()], dk, dv


NO_DELTA = Steps(delta=no_delta)
NO_PROBABILITY = Steps(dscores=lambda p, dp, delta: dp - delta)
UNSCALED = Steps(dq_scale=lambda D: 1.0, dk_scale=lambda D: 1.0)
SCALED_TWICE = Steps(dq_scale=lambda D: 1 / D, dk_scale=lambda D: 1 / D)
UNSCALED_SCORES = Steps(scale=lambda D: 1.0)
FIRST_HEAD = Steps(over_group=lambda x: x[:, 0])
LAST_HEAD = Steps(over_group=lambda x: x[:, -1])
MEAN_OF_GROUP = Steps(over_group=lambda x: x.mean(1))
BASE_TWO = Steps(exponent=lambda s, lse: s - lse * math.log(2))

MISTAKES = (
    Mistake("lacks delta: dS = P · (dP − rowsum(dO · O))", NO_DELTA.backward),
    Mistake("lacks the factor P in dS = P · (dP − delta)", NO_PROBABILITY.backward),
    Mistake("is not multiplied by the scale 1/√D", UNSCALED.backward),
    Mistake("is multiplied by the scale 1/√D twice", SCALED_TWICE.backward),
    Mistake("recomputes the scores without the scale 1/√D", UNSCALED_SCORES.backward),
    Mistake("holds the first query head of each group alone, not the sum", FIRST_HEAD.backward),
    Mistake("holds the last query head of each group: do heads overwrite?", LAST_HEAD.backward),
    Mistake("is the mean over each group, not the sum", MEAN_OF_GROUP.backward),
    Mistake("takes lse for a logarithm to base 2", BASE_TWO.backward),
    Mistake("leaves out the diagonal: a token sees itself", up_to(-1).backward),
    Mistake("lets a token see the one after it", up_to(1).backward),
    Mistake("is not masked: a token sees those after it", up_to(1 << 30).backward),
    Mistake("lets tokens see other documents", documents_ignored),
    Mistake("takes key-value head h mod H where h // G belongs", heads_in_turn),
)
