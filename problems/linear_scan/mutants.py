"""The scan's mutants: time, indices and carries gone wrong, quotients that underflow, coarse sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from problems.linear_scan import mistakes
from problems.linear_scan.formulas import before, scanned_back
from problems.linear_scan.problem import PROBLEM
from problems.mutants import BLOCK, Backward, Diagnosis, Mutant, Spoiler, read_linearly
from problems.spec import Gradients

T = torch.Tensor

ALL = ("dx", "da")
_make = Spoiler(PROBLEM)


def _whole(
    name: str,
    what: str,
    backward: Backward,
    gradients: Sequence[str] = ALL,
    diagnosis: Diagnosis | None = None,
    term: str = "",
) -> Mutant:
    return Mutant(name, what, backward, tuple(gradients), diagnosis, term)


def _with_g(g_of: Callable[[T, T], T]) -> Backward:
    """Both gradients from a g that was computed wrongly."""

    def backward(grad_output: T, a: T, h: T) -> Gradients:
        g = g_of(grad_output, a).contiguous()
        return g, g * before(h)

    return backward


def _blocks_without_a_future(dy: T, a: T) -> T:
    parts = zip(torch.split(dy, BLOCK, dim=1), torch.split(a, BLOCK, dim=1), strict=True)
    return torch.cat([scanned_back(decays, new) for new, decays in parts], dim=1)


def _carry_added_without_decay(dy: T, a: T) -> T:
    """The carry reaches the last step of each block and none before it."""
    right, alone = scanned_back(a, dy), _blocks_without_a_future(dy, a)
    last = torch.arange(dy.shape[1])[BLOCK - 1 :: BLOCK]
    alone[:, last] = right[:, last]
    return alone


def _sequences_in_one_row(dy: T, a: T) -> T:
    B, steps, D = dy.shape
    row = scanned_back(a.reshape(1, B * steps, D), dy.reshape(1, B * steps, D))
    return row.reshape(B, steps, D)


def _by_quotients(dy: T, a: T) -> T:
    """g[t] = Σ_s≥t (P[s] / P[t]) dy[s] with P the running product of the decays."""
    products = a.cumprod(1)
    return (products * dy).flip(1).cumsum(1).flip(1) / products


def _by_logarithms(dy: T, a: T) -> T:
    logs = a.log().cumsum(1)
    steps = torch.arange(a.shape[1])
    later = (steps[None, :] >= steps[:, None])[None, :, :, None]
    weights = torch.where(later, (logs[:, None] - logs[:, :, None]).exp(), 0.0)
    return (weights * dy[:, None]).sum(2)


def _carry_in_bfloat16(dy: T, a: T) -> T:
    g = torch.zeros_like(dy[:, 0])
    steps = []
    for t in range(dy.shape[1] - 1, -1, -1):
        decay = a[:, t + 1] if t + 1 < dy.shape[1] else torch.zeros_like(g)
        g = (dy[:, t] + decay * g).bfloat16().float()
        steps.append(g)
    return torch.stack(steps[::-1], dim=1)


def _last_step_twice(dy: T, a: T) -> T:
    """The walk begins with the last step as its own future."""
    ones = torch.cat([dy, dy[:, -1:]], dim=1), torch.cat([a, a[:, -1:]], dim=1)
    return scanned_back(ones[1], ones[0])[:, :-1]


def _da_of_the_upstream(grad_output: T, a: T, h: T) -> T:
    return grad_output * before(h)


def _da_wraps(grad_output: T, a: T, h: T) -> T:
    return scanned_back(a, grad_output) * h.roll(1, dims=1)


def _da_across_sequences(grad_output: T, a: T, h: T) -> T:
    B, steps, D = h.shape
    row = before(h.reshape(1, B * steps, D)).reshape(B, steps, D)
    return scanned_back(a, grad_output) * row


def _da_restarts_in_blocks(grad_output: T, a: T, h: T) -> T:
    parts = torch.cat([before(part) for part in torch.split(h, BLOCK, dim=1)], dim=1)
    return scanned_back(a, grad_output) * parts


def _mistaken(
    name: str, what: str, mistake: Backward, term: str, gradients: Sequence[str] = ALL
) -> Mutant:
    def backward(**arguments: T) -> Gradients:
        dx, da = mistake(**arguments)
        return dx.contiguous(), da.contiguous()

    return _whole(name, what, backward, gradients, Diagnosis.MISSING_TERM, term)


_OF_TIME = (
    _mistaken(
        "forward_in_time",
        "Scans the upstream gradient from the first step to the last.",
        mistakes.forward_in_time,
        "the direction of time",
    ),
    _mistaken(
        "decay_of_the_wrong_step",
        "Decays by a[t] where a[t + 1] belongs.",
        mistakes.own_decay,
        "one step",
    ),
    _mistaken(
        "no_scan",
        "Takes the state for a constant: later steps pass nothing back.",
        mistakes.without_future,
        "a[t + 1] · g[t + 1]",
    ),
    _mistaken(
        "decay_missing",
        "Adds up the future without decay.",
        mistakes.without_decay,
        "a[t + 1]",
    ),
    _mistaken(
        "carry_stored",
        "Stores the carry a · g, which goes on to the step before, in place of g.",
        mistakes.decayed_once_more,
        "a factor too many",
    ),
    _mistaken(
        "state_after_the_step",
        "Multiplies by h[t] in da, where h[t - 1] belongs.",
        mistakes.own_state,
        "one step",
        ("da",),
    ),
    _whole(
        "last_step_twice",
        "Begins with what the last step leaves, as if it came after it too.",
        _with_g(_last_step_twice),
    ),
)

_OF_CARRIES = (
    _whole(
        "carry_forgotten",
        f"Scans blocks of {BLOCK} steps and forgets what comes from the block after.",
        _with_g(_blocks_without_a_future),
    ),
    _whole(
        "carry_not_decayed_through",
        f"Adds the carry to the last step of each block of {BLOCK} and to none before it.",
        _with_g(_carry_added_without_decay),
    ),
    _whole(
        "carry_across_sequences",
        "Scans all sequences in one row, so that each passes its gradient to the one before.",
        _with_g(_sequences_in_one_row),
    ),
    _whole(
        "carry_in_bfloat16",
        "Rounds the carry to bfloat16 at every step.",
        _with_g(_carry_in_bfloat16),
        ALL,
        Diagnosis.LOW_PRECISION,
    ),
    _whole(
        "decay_in_bfloat16",
        "Rounds the decays to bfloat16, which makes 0.999 one.",
        _with_g(lambda dy, a: scanned_back(a.bfloat16().float(), dy)),
    ),
    _whole(
        "quotients_of_products",
        "Divides by running products of decays, which underflow.",
        _with_g(_by_quotients),
        ALL,
        Diagnosis.NOT_FINITE,
    ),
    _whole(
        "logarithms_of_decays",
        "Takes logarithms of decays, of which some are zero or negative.",
        _with_g(_by_logarithms),
        ALL,
        Diagnosis.NOT_FINITE,
    ),
)

_OF_DA = (
    _make.one(
        "da",
        "da_of_the_upstream",
        "Multiplies the state by grad_output in da, not by what the scan made of it.",
        _da_of_the_upstream,
        Diagnosis.MISSING_TERM,
        "a[t + 1] · g[t + 1]",
    ),
    _make.one(
        "da",
        "da_of_the_last_state",
        "The state before the first step is the last one: an index of -1.",
        _da_wraps,
    ),
    _make.one(
        "da",
        "da_of_the_neighbour",
        "The state before the first step is the last one of the sequence before.",
        _da_across_sequences,
    ),
    _make.one(
        "da",
        "da_without_the_block_before",
        f"The state before the first step of each block of {BLOCK} is taken for zero.",
        _da_restarts_in_blocks,
    ),
)

_OF_MEMORY = (
    _make.argument(
        "a",
        "a_strides",
        "a is read from memory in order, whatever its strides are.",
        read_linearly,
        ALL,
        Diagnosis.STRIDES,
    ),
    _make.argument(
        "h",
        "h_strides",
        "h is read from memory in order, whatever its strides are.",
        read_linearly,
        ("da",),
        Diagnosis.STRIDES,
    ),
)

MUTANTS = (
    *_make.common(),
    *_make.upstream(),
    *_OF_TIME,
    *_OF_CARRIES,
    *_OF_DA,
    *_OF_MEMORY,
)
