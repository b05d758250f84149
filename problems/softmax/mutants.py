"""Softmax's mutants: parts of the Jacobian left out; the row's sum cut short or made coarse."""

from __future__ import annotations

from collections.abc import Callable

import torch

from problems.mutants import (
    BLOCK,
    Diagnosis,
    Mutant,
    Spoiler,
    full_blocks,
    lose_updates,
    read_linearly,
    running_sum,
)
from problems.softmax.problem import PROBLEM

T = torch.Tensor

_COLUMNS = 1024  # of one block, in a kernel whose row must fit in it
_make = Spoiler(PROBLEM)


def _dx(grad_output: T, y: T, row_sum: T) -> T:
    return y.float() * (grad_output.float() - row_sum)


def _products(grad_output: T, y: T) -> T:
    return grad_output.float() * y.float()


def _diagonal_only(grad_output: T, y: T) -> T:
    return _products(grad_output, y) * (1 - y.float())


def _row_sum_without_y(grad_output: T, y: T) -> T:
    products = _products(grad_output, y)
    return products - products.sum(1, keepdim=True)


def _of_log_softmax(grad_output: T, y: T) -> T:
    return grad_output.float() - y.float() * grad_output.float().sum(1, keepdim=True)


def _sum_of_the_upstream(grad_output: T, y: T) -> T:
    return _dx(grad_output, y, grad_output.float().sum(1, keepdim=True))


def _mean_for_sum(grad_output: T, y: T) -> T:
    return _dx(grad_output, y, _products(grad_output, y).mean(1, keepdim=True))


def _without_outer_y(grad_output: T, y: T) -> T:
    return grad_output.float() - _products(grad_output, y).sum(1, keepdim=True)


def _sum_over_one_block(grad_output: T, y: T) -> T:
    return _dx(grad_output, y, _products(grad_output, y)[:, :_COLUMNS].sum(1, keepdim=True))


def _tail_of_the_sum_forgotten(grad_output: T, y: T) -> T:
    products = _products(grad_output, y)
    return _dx(grad_output, y, products[:, : full_blocks(products, 1)].sum(1, keepdim=True))


def _sum_without_a_mask(grad_output: T, y: T) -> T:
    products = _products(grad_output, y)
    beyond = products.roll(-1, 0)[:, : -y.shape[1] % BLOCK].sum(1, keepdim=True)
    return _dx(grad_output, y, products.sum(1, keepdim=True) + beyond)


def _sum_over_all_rows(grad_output: T, y: T) -> T:
    return _dx(grad_output, y, _products(grad_output, y).sum())


def _blocks_of_the_sum_race(grad_output: T, y: T) -> T:
    parts = torch.split(_products(grad_output, y), BLOCK, dim=1)
    sums = [lose_updates(part.sum(1, keepdim=True)) for part in parts]
    return _dx(grad_output, y, torch.stack(sums).sum(0))


def _sum_added_up_in_bfloat16(grad_output: T, y: T) -> T:
    total = running_sum(_products(grad_output, y).t(), torch.bfloat16)
    return _dx(grad_output, y, total.float()[:, None])


def _sum_rounded_to_bfloat16(grad_output: T, y: T) -> T:
    total = _products(grad_output, y).sum(1, keepdim=True)
    return _dx(grad_output, y, total.bfloat16().float())


def _difference_rounded(grad_output: T, y: T) -> T:
    products = _products(grad_output, y)
    subtracted = y.float() * products.sum(1, keepdim=True)
    return products.bfloat16().float() - subtracted.bfloat16().float()


def _y_normalised_again(grad_output: T, y: T) -> T:
    wide = y.float()
    normalised = wide / wide.sum(1, keepdim=True)
    return _dx(grad_output, normalised, _products(grad_output, normalised).sum(1, keepdim=True))


def _spoil(
    name: str,
    what: str,
    wrong: Callable[..., T],
    diagnosis: Diagnosis | None = None,
    term: str = "",
) -> Mutant:
    return _make.one("dx", name, what, wrong, diagnosis, term)


_OF_THE_JACOBIAN = (
    _spoil(
        "row_sum_missing",
        "Multiplies by y and leaves out the sum that couples a row.",
        _products,
        Diagnosis.MISSING_TERM,
        "y · sum(dy · y)",
    ),
    _spoil(
        "diagonal_only",
        "Multiplies by y (1 − y), the Jacobian's diagonal, as for a sigmoid.",
        _diagonal_only,
        Diagnosis.MISSING_TERM,
        "the Jacobian off its diagonal",
    ),
    _spoil(
        "row_sum_without_y",
        "Subtracts the row's sum without multiplying it by y.",
        _row_sum_without_y,
        Diagnosis.MISSING_TERM,
        "y before the row's sum",
    ),
    _spoil(
        "outer_y_missing",
        "Subtracts the row's sum from dy and forgets to multiply by y.",
        _without_outer_y,
        Diagnosis.MISSING_TERM,
        "y",
    ),
    _spoil(
        "gradient_of_log_softmax",
        "Returns the gradient of log-softmax.",
        _of_log_softmax,
        Diagnosis.MISSING_TERM,
        "the exponential of log-softmax",
    ),
    _spoil(
        "sum_of_the_upstream",
        "Sums dy over the row without multiplying it by y.",
        _sum_of_the_upstream,
        Diagnosis.MISSING_TERM,
        "y in sum(dy · y)",
    ),
    _spoil(
        "sum_is_a_mean",
        "Takes the mean over the row instead of the sum.",
        _mean_for_sum,
        Diagnosis.MISSING_TERM,
        "N",
    ),
    _spoil(
        "y_normalised_again",
        "Divides y by its row's sum first, though the gradient asked for is that of y as given.",
        _y_normalised_again,
    ),
)

_OF_THE_SUM = (
    _spoil(
        "sum_over_one_block",
        f"Sums a row over its first {_COLUMNS} columns only.",
        _sum_over_one_block,
    ),
    _spoil(
        "tail_of_the_sum_forgotten",
        f"Sums a row over whole blocks of {BLOCK} columns and forgets those left over.",
        _tail_of_the_sum_forgotten,
    ),
    _spoil(
        "sum_without_a_mask",
        "The last block of a row's sum has no mask, so it runs into the next row.",
        _sum_without_a_mask,
    ),
    _spoil(
        "sum_over_all_rows",
        "Sums over the whole matrix where each row needs a sum of its own.",
        _sum_over_all_rows,
    ),
    _spoil(
        "blocks_of_the_sum_race",
        "Blocks of a row add to its sum without atomics, so that some of what they add is lost.",
        _blocks_of_the_sum_race,
    ),
    _spoil(
        "sum_added_up_in_bfloat16",
        "Adds the row's products up in bfloat16, one by one.",
        _sum_added_up_in_bfloat16,
        Diagnosis.LOW_PRECISION,
    ),
    _spoil(
        "sum_rounded_to_bfloat16",
        "Rounds the row's sum to bfloat16 before dy − sum, which may cancel.",
        _sum_rounded_to_bfloat16,
        Diagnosis.LOW_PRECISION,
    ),
    _spoil(
        "difference_rounded",
        "Rounds y · dy and y · sum to bfloat16 before one is subtracted from the other.",
        _difference_rounded,
        Diagnosis.LOW_PRECISION,
    ),
)

MUTANTS = (
    *_make.common(),
    *_make.upstream(),
    *_OF_THE_JACOBIAN,
    *_OF_THE_SUM,
    _make.argument(
        "y",
        "y_strides",
        "y is read from memory in order, whatever its strides are.",
        read_linearly,
        _make.names,
        Diagnosis.STRIDES,
    ),
)
