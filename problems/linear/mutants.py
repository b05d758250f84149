"""The linear layer's mutants: matrices taken for their transposes, sums cut short or made coarse."""

from __future__ import annotations

import torch

from problems.linear.problem import PROBLEM
from problems.matrix_products import as_its_transpose, product_in_parts
from problems.mutants import (
    BLOCK,
    Diagnosis,
    Spoiler,
    full_blocks,
    lose_updates,
    read_linearly,
    running_sum,
)

T = torch.Tensor

_make = Spoiler(PROBLEM)


def _weight_transposed(grad_output: T, x: T, weight: T) -> T:
    return grad_output.float() @ as_its_transpose(weight).float()


def _dx_over_one_block(grad_output: T, x: T, weight: T) -> T:
    return product_in_parts(grad_output, weight, 4 * BLOCK)[0]


def _tail_of_dx_forgotten(grad_output: T, x: T, weight: T) -> T:
    whole = full_blocks(grad_output, 1, BLOCK // 2)
    return grad_output[:, :whole].float() @ weight[:whole].float()


def _dx_in_bfloat16(grad_output: T, x: T, weight: T) -> T:
    return running_sum(product_in_parts(grad_output, weight, 1), torch.bfloat16)


def _dx_in_float8(grad_output: T, x: T, weight: T) -> T:
    return grad_output.float() @ weight.to(torch.float8_e4m3fn).float()


def _dweight(grad_output: T, x: T) -> T:
    return grad_output.float().t() @ x.float()


_OF_DX = (
    _make.one(
        "dx",
        "weight_transposed",
        "The weight's memory is read as (K, N): for a square weight, its transpose.",
        _weight_transposed,
        Diagnosis.TRANSPOSED,
    ),
    _make.one(
        "dx",
        "dx_over_one_block",
        f"dx adds up the first {4 * BLOCK} output features only.",
        _dx_over_one_block,
        Diagnosis.ONE_BLOCK,
    ),
    _make.one(
        "dx",
        "tail_of_dx_forgotten",
        f"dx adds up whole blocks of {BLOCK // 2} output features and forgets those left over.",
        _tail_of_dx_forgotten,
        Diagnosis.ONE_BLOCK,
    ),
    _make.one(
        "dx",
        "dx_in_bfloat16",
        "dx is accumulated in bfloat16, one output feature after the other.",
        _dx_in_bfloat16,
        Diagnosis.LOW_PRECISION,
    ),
    _make.one(
        "dx",
        "weight_in_float8",
        "The weight is rounded to an 8-bit float with 3 bits of mantissa.",
        _dx_in_float8,
        Diagnosis.LOW_PRECISION,
    ),
)

_OF_DWEIGHT = (
    _make.one(
        "dweight",
        "dweight_transposed",
        "dweight is stored as (K, N): for a square weight, its transpose.",
        lambda grad_output, x, weight: as_its_transpose(_dweight(grad_output, x).t()).t(),
        Diagnosis.TRANSPOSED,
    ),
    _make.one(
        "dweight",
        "dweight_over_one_block",
        f"Sums dweight over the first {BLOCK} rows only.",
        lambda grad_output, x, weight: _dweight(grad_output[:BLOCK], x[:BLOCK]),
        Diagnosis.ONE_BLOCK,
    ),
    _make.one(
        "dweight",
        "dweight_is_a_mean",
        "Averages dweight over the rows.",
        lambda grad_output, x, weight: _dweight(grad_output, x) / len(x),
        Diagnosis.CONSTANT_FACTOR,
    ),
    _make.one(
        "dweight",
        "dweight_without_upstream",
        "Every row of dweight is the sum of x: the upstream gradient is taken for ones.",
        lambda grad_output, x, weight: _dweight(torch.ones_like(grad_output), x),
        Diagnosis.UPSTREAM_ONES,
    ),
    _make.one(
        "dweight",
        "dweight_rounded_to_bfloat16",
        "dweight goes through bfloat16 on its way to float32.",
        lambda grad_output, x, weight: _dweight(grad_output, x).bfloat16(),
        Diagnosis.LOW_PRECISION,
    ),
    _make.one(
        "dweight",
        "dweight_partials_in_bfloat16",
        f"Adds up blocks of {BLOCK} rows in float32 and rounds the total to bfloat16 after each.",
        lambda grad_output, x, weight: running_sum(
            product_in_parts(grad_output.t(), x, BLOCK), torch.bfloat16
        ),
        Diagnosis.LOW_PRECISION,
    ),
    _make.one(
        "dweight",
        "dweight_race",
        "Blocks of rows add to dweight without atomics, so that some of what they add is lost.",
        lambda grad_output, x, weight: lose_updates(
            product_in_parts(grad_output.t(), x, BLOCK)
        ).sum(0),
    ),
)

_OF_DBIAS = (
    _make.one(
        "dbias",
        "dbias_over_one_block",
        f"Sums dbias over the first {BLOCK} rows only.",
        lambda grad_output, x, weight: grad_output[:BLOCK].float().sum(0),
        Diagnosis.ONE_BLOCK,
    ),
    _make.one(
        "dbias",
        "dbias_of_one_row",
        "dbias is the upstream gradient's first row, not the sum over all.",
        lambda grad_output, x, weight: grad_output[0],
        Diagnosis.ONE_BLOCK,
    ),
    _make.one(
        "dbias",
        "dbias_in_bfloat16",
        "Adds the rows up one by one in bfloat16.",
        lambda grad_output, x, weight: running_sum(grad_output, torch.bfloat16),
        Diagnosis.LOW_PRECISION,
    ),
)

MUTANTS = (
    *_make.common(),
    *_make.upstream(),
    *_make.buffers(),
    *_OF_DX,
    *_OF_DWEIGHT,
    *_OF_DBIAS,
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
