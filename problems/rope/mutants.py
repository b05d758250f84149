"""The rotary embedding's mutants: wrong directions, wrong pairs, angles of other rows, coarse angles."""

from __future__ import annotations

from collections.abc import Callable

import torch

from problems.mutants import BLOCK, Diagnosis, Mutant, Spoiler, full_blocks, read_linearly
from problems.rope.problem import PROBLEM

T = torch.Tensor

_make = Spoiler(PROBLEM)


def _halves(grad_output: T) -> tuple[T, T]:
    first, second = grad_output.float().chunk(2, dim=-1)
    return first, second


def _turned(first: T, second: T, c: T, s: T) -> T:
    """Both halves turned by minus the angle; c and s broadcast over the heads."""
    return torch.cat((first * c + second * s, second * c - first * s), dim=-1)


def _by(change: Callable[[T], T]) -> Callable[..., T]:
    """dx with `change` applied to both tables."""

    def dx(grad_output: T, cos: T, sin: T) -> T:
        return _turned(*_halves(grad_output), change(cos)[:, None], change(sin)[:, None])

    return dx


def _forwards(grad_output: T, cos: T, sin: T) -> T:
    return _turned(*_halves(grad_output), cos[:, None], -sin[:, None])


def _interleaved(grad_output: T, cos: T, sin: T) -> T:
    even, odd = grad_output.float()[..., ::2], grad_output.float()[..., 1::2]
    turned = _turned(even, odd, cos[:, None], sin[:, None])
    return torch.stack(turned.chunk(2, dim=-1), dim=-1).flatten(-2)


def _exchanged(grad_output: T, cos: T, sin: T) -> T:
    return _turned(*_halves(grad_output), sin[:, None], cos[:, None])


def _same_sign(grad_output: T, cos: T, sin: T) -> T:
    first, second = _halves(grad_output)
    c, s = cos[:, None], sin[:, None]
    return torch.cat((first * c + second * s, second * c + first * s), dim=-1)


def _cosine_alone(grad_output: T, cos: T, sin: T) -> T:
    return _turned(*_halves(grad_output), cos[:, None], torch.zeros_like(sin)[:, None])


def _in_place(grad_output: T, cos: T, sin: T) -> T:
    first, second = _halves(grad_output)
    c, s = cos[:, None], sin[:, None]
    first = first * c + second * s
    return torch.cat((first, second * c - first * s), dim=-1)


def _angles_of_the_head(grad_output: T, cos: T, sin: T) -> T:
    heads = torch.arange(grad_output.shape[1]) % len(cos)
    return _turned(*_halves(grad_output), cos[heads], sin[heads])


def _first_head_only(grad_output: T, cos: T, sin: T) -> T:
    turned = _turned(*_halves(grad_output), cos[:, None], sin[:, None])
    return torch.cat((turned[:, :1], grad_output.float()[:, 1:]), dim=1)


def _tail_of_the_pairs_not_turned(grad_output: T, cos: T, sin: T) -> T:
    kept = torch.arange(cos.shape[1]) < full_blocks(cos, 1, 16)
    c = torch.where(kept, cos, 1.0)[:, None]
    return _turned(*_halves(grad_output), c, torch.where(kept, sin, 0.0)[:, None])


def _products_in_bfloat16(grad_output: T, cos: T, sin: T) -> T:
    first, second = grad_output.chunk(2, dim=-1)
    return _turned(first, second, cos.bfloat16()[:, None], sin.bfloat16()[:, None])


def _spoil(
    name: str,
    what: str,
    wrong: Callable[..., T],
    diagnosis: Diagnosis | None = None,
    term: str = "",
) -> Mutant:
    return _make.one("dx", name, what, wrong, diagnosis, term)


def _missing(name: str, what: str, wrong: Callable[..., T], term: str) -> Mutant:
    return _spoil(name, what, wrong, Diagnosis.MISSING_TERM, term)


_OF_THE_ROTATION = (
    _missing(
        "forwards",
        "Turns by the angle instead of back: forward is called a second time.",
        _forwards,
        "the sign of sin",
    ),
    _missing(
        "interleaved",
        "Takes neighbouring elements for a pair, as the other convention does.",
        _interleaved,
        "the half between the elements of a pair",
    ),
    _missing(
        "cos_and_sin_exchanged",
        "Takes each table for the other.",
        _exchanged,
        "the order of the tables",
    ),
    _missing(
        "same_sign_twice",
        "Adds the product with sin in both halves.",
        _same_sign,
        "the sign of sin in the second half",
    ),
    _missing(
        "cosine_alone",
        "Multiplies by the cosine and leaves out what comes from the other half.",
        _cosine_alone,
        "both terms with sin",
    ),
    _missing(
        "first_half_overwritten",
        "Computes the second half from the new first half, as an in-place kernel does.",
        _in_place,
        "the first half as it was",
    ),
    _spoil(
        "first_head_only",
        "Turns the first head of each token and copies the others.",
        _first_head_only,
    ),
    _spoil(
        "tail_of_the_pairs_not_turned",
        "Copies the pairs beyond the last full block of 16.",
        _tail_of_the_pairs_not_turned,
    ),
)

_OF_THE_TABLES = (
    _missing(
        "angles_of_the_first_token",
        "Turns every token by the angles of the first row of the tables.",
        _by(lambda table: table[:1]),
        "the token's own angles",
    ),
    _spoil(
        "angles_of_the_head",
        "Takes the row of the tables by the number of the head instead of the token.",
        _angles_of_the_head,
    ),
    _spoil(
        "angles_of_one_block",
        f"Takes the row of the tables by the token's number in its block of {BLOCK}.",
        _by(lambda table: table[torch.arange(len(table)) % BLOCK]),
        Diagnosis.LAST_BLOCK,
    ),
    _spoil(
        "angles_of_the_next_token",
        "Is off by one row in the tables.",
        _by(lambda table: table.roll(-1, 0)),
    ),
    _spoil(
        "pairs_in_reverse",
        "Counts the frequencies from the other end.",
        _by(lambda table: table.flip(1)),
    ),
    _spoil(
        "tables_in_bfloat16",
        "Rounds cos and sin to bfloat16.",
        _by(lambda table: table.bfloat16().float()),
        Diagnosis.LOW_PRECISION,
    ),
    _spoil(
        "tables_in_float8",
        "Keeps the tables in an 8-bit float to save memory traffic.",
        _by(lambda table: table.to(torch.float8_e4m3fn).float()),
        Diagnosis.LOW_PRECISION,
    ),
    _spoil(
        "products_in_bfloat16",
        "Multiplies and adds in bfloat16, so that each result is rounded three times.",
        _products_in_bfloat16,
        Diagnosis.LOW_PRECISION,
    ),
    _make.argument(
        "cos",
        "cos_strides",
        "cos is read from memory in order, whatever its strides are.",
        read_linearly,
        _make.names,
        Diagnosis.STRIDES,
    ),
    _make.argument(
        "sin",
        "sin_strides",
        "sin is read from memory in order, whatever its strides are.",
        read_linearly,
        _make.names,
        Diagnosis.STRIDES,
    ),
)

MUTANTS = (*_make.common(), *_make.upstream(), *_OF_THE_ROTATION, *_OF_THE_TABLES)
