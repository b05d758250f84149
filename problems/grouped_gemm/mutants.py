"""The grouped product's mutants: groups mixed up, cut short or overrun, empty ones forgotten."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import torch

from problems.grouped_gemm import mistakes
from problems.grouped_gemm.formulas import dweight_of, dx_of, groups
from problems.grouped_gemm.problem import PROBLEM
from problems.matrix_products import product_in_float32, product_in_parts
from problems.mutants import (
    BLOCK,
    Backward,
    Diagnosis,
    Mutant,
    Spoiler,
    lose_updates,
    read_linearly,
    running_sum,
)
from problems.spec import Gradients

T = torch.Tensor
TILE = BLOCK // 2

_make = Spoiler(PROBLEM)


def _whole(name: str, what: str, mistake: Backward, term: str, gradients: Sequence[str]) -> Mutant:
    """A mistake of the derivation in `gradients`; the others are honest."""
    place = {g.name: i for i, g in enumerate(PROBLEM.gradients)}

    def backward(**arguments: T) -> Gradients:
        single = {n: t.float() if t.is_floating_point() else t for n, t in arguments.items()}
        wrong, honest = mistake(**single), PROBLEM.baseline(**arguments)
        return tuple(
            (wrong if g.name in gradients else honest)[place[g.name]].to(g.dtype).contiguous()
            for g in PROBLEM.gradients
        )

    whole = PROBLEM.accumulating(backward)
    return Mutant(name, what, whole, tuple(gradients), Diagnosis.MISSING_TERM, term)


def _dweight(rows_of: Callable[[slice, int], slice]) -> Callable[..., T]:
    """dweight over other rows than an expert's own: `rows_of` gets these and how many rows there are."""

    def wrong(grad_output: T, x: T, weight: T, offsets: T) -> T:
        chosen = [rows_of(rows, len(x)) for rows in groups(offsets)]
        return torch.stack([product_in_float32(x[r].t(), grad_output[r]) for r in chosen])

    return wrong


def _first_block(rows: slice, _: int) -> slice:
    return slice(rows.start, min(rows.start + BLOCK, rows.stop))


def _whole_blocks(rows: slice, _: int) -> slice:
    return slice(rows.start, rows.start + (rows.stop - rows.start) // TILE * TILE)


def _to_the_end_of_the_block(rows: slice, count: int) -> slice:
    whole = -(-(rows.stop - rows.start) // TILE) * TILE
    return slice(rows.start, min(rows.start + whole, count))


def _from_the_start_of_the_block(rows: slice, _: int) -> slice:
    return slice(rows.start // TILE * TILE if rows.start < rows.stop else rows.start, rows.stop)


def _empty_unwritten(grad_output: T, x: T, weight: T, offsets: T) -> T:
    dweight = dweight_of(grad_output, x, offsets, product_in_float32)
    dweight[offsets[:-1] == offsets[1:]] = torch.nan
    return dweight


def _padding_unwritten(grad_output: T, x: T, weight: T, offsets: T) -> T:
    dx = dx_of(grad_output, weight, offsets)
    dx[int(offsets[-1]) :] = torch.nan
    return dx


def _tiles_cross_groups(grad_output: T, x: T, weight: T, offsets: T) -> T:
    """A tile of rows belongs wholly to the expert of its first row."""
    dx = torch.zeros(x.shape)
    for begin in range(0, int(offsets[-1]), TILE):
        rows = slice(begin, min(begin + TILE, int(offsets[-1])))
        expert = int((offsets[1:] <= begin).sum())
        dx[rows] = product_in_float32(grad_output[rows], weight[expert].t())
    return dx


def _last_block_of_dx(grad_output: T, x: T, weight: T, offsets: T) -> T:
    """Each expert's rows beyond its last whole block stay zero."""
    dx = dx_of(grad_output, weight, offsets).float()
    for begin, end in pairwise(offsets.tolist()):
        dx[begin + (end - begin) // TILE * TILE : end] = 0
    return dx


def _by_parts(add: Callable[[T], T], block: int) -> Callable[..., T]:
    """dweight as `add` makes it of what each block of an expert's rows adds."""

    def wrong(grad_output: T, x: T, weight: T, offsets: T) -> T:
        return dweight_of(
            grad_output, x, offsets, lambda a, b: add(product_in_parts(a, b, block)).float()
        )

    return wrong


def _in_bfloat16(parts: T) -> T:
    return running_sum(parts, torch.bfloat16)


_OF_GROUPS = (
    _whole(
        "offsets_one_group_late",
        "Every expert works on the rows of the one before it.",
        mistakes.one_group_off,
        "the expert's own rows",
        ("dx", "dweight"),
    ),
    _whole(
        "all_rows_to_the_first_expert",
        "All rows are taken for the first expert's.",
        mistakes.all_to_the_first,
        "the other experts",
        ("dx", "dweight"),
    ),
    _whole(
        "equal_shares",
        "Every expert is taken to have the same number of rows.",
        mistakes.equal_shares,
        "the offsets",
        ("dx", "dweight"),
    ),
    _whole(
        "padding_in_dweight",
        "The last expert's dweight counts the padding rows too.",
        mistakes.padding_to_the_last,
        "the end of the last group",
        ("dweight",),
    ),
    _make.one(
        "dx",
        "padding_unwritten",
        "Rows of no expert keep what memory held.",
        _padding_unwritten,
        Diagnosis.IGNORED_ROWS,
    ),
    _make.one(
        "dweight",
        "empty_experts_unwritten",
        "The dweight of an expert without rows keeps what memory held.",
        _empty_unwritten,
        Diagnosis.IGNORED_ROWS,
    ),
    _make.one(
        "dx",
        "tiles_cross_groups",
        f"A tile of {TILE} rows is multiplied by the weight of its first row's expert.",
        _tiles_cross_groups,
    ),
    _make.one(
        "dx",
        "last_blocks_of_dx_zero",
        f"Each expert's rows beyond its last whole block of {TILE} are never stored.",
        _last_block_of_dx,
        Diagnosis.LAST_BLOCK,
    ),
    _make.one(
        "dweight",
        "last_block_unmasked",
        f"An expert's last block of {TILE} rows runs on into the rows of the next.",
        _dweight(_to_the_end_of_the_block),
    ),
    _make.one(
        "dweight",
        "first_block_unmasked",
        f"An expert's rows begin at a multiple of {TILE}, in those of the one before.",
        _dweight(_from_the_start_of_the_block),
    ),
    _make.one(
        "dweight",
        "last_block_forgotten",
        f"dweight adds up whole blocks of {TILE} rows of each expert.",
        _dweight(_whole_blocks),
    ),
    _make.one(
        "dweight",
        "first_block_only",
        f"dweight adds up the first {BLOCK} rows of each expert only.",
        _dweight(_first_block),
    ),
)

_OF_PRODUCTS = (
    _whole(
        "weight_transposed",
        "Each expert's weight is read as (N, K).",
        mistakes.weight_transposed,
        "the transposition",
        ("dx",),
    ),
    _whole(
        "dweight_transposed",
        "Each expert's dweight is stored as (N, K).",
        mistakes.weight_transposed,
        "the transposition",
        ("dweight",),
    ),
    _whole(
        "dweight_is_a_mean",
        "Averages dweight over the expert's rows.",
        mistakes.averaged,
        "the number of rows",
        ("dweight",),
    ),
    _make.one(
        "dweight",
        "dweight_rounded_to_bfloat16",
        "dweight goes through bfloat16 on its way to float32.",
        _by_parts(lambda parts: parts.sum(0).bfloat16(), BLOCK),
        Diagnosis.LOW_PRECISION,
    ),
    _make.one(
        "dweight",
        "dweight_in_bfloat16",
        "Adds the rows of each expert up one by one in bfloat16.",
        _by_parts(_in_bfloat16, 1),
        Diagnosis.LOW_PRECISION,
    ),
    _make.one(
        "dweight",
        "dweight_partials_in_bfloat16",
        f"Adds up blocks of {TILE} rows in float32 and rounds the total to bfloat16 after each.",
        _by_parts(_in_bfloat16, TILE),
        Diagnosis.LOW_PRECISION,
    ),
    _make.one(
        "dweight",
        "dweight_race",
        "Blocks of rows add to dweight without atomics, so that some of what they add is lost.",
        _by_parts(lambda parts: lose_updates(parts).sum(0), TILE),
    ),
    _make.one(
        "dx",
        "dx_in_bfloat16",
        "dx is accumulated in bfloat16, one output feature after the other.",
        lambda grad_output, x, weight, offsets: dx_of(
            grad_output.float(),
            weight.float(),
            offsets,
            lambda a, b: _in_bfloat16(product_in_parts(a, b, 1)).float(),
        ),
        Diagnosis.LOW_PRECISION,
    ),
)

MUTANTS = (
    *_make.common(matrices=["dx"]),
    *_make.upstream(),
    *_make.buffers(),
    *_OF_GROUPS,
    *_OF_PRODUCTS,
    _make.argument(
        "x",
        "x_strides",
        "x is read from memory in order, whatever its strides are.",
        read_linearly,
        ["dweight"],
        Diagnosis.STRIDES,
    ),
    _make.argument(
        "weight",
        "weight_strides",
        "The weight is read from memory in order, whatever its strides are.",
        read_linearly,
        ["dx"],
        Diagnosis.STRIDES,
    ),
)
