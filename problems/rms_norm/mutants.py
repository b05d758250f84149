"""RMSNorm's mutants: each term and factor left out once, both reductions cut short or made coarse."""

from __future__ import annotations

import torch

from problems.column_sums import column_sum_mutants
from problems.mutants import (
    BLOCK,
    Diagnosis,
    Spoiler,
    full_blocks,
    next_power_of_two,
    read_linearly,
    running_sum,
)
from problems.rms_norm.problem import PROBLEM

T = torch.Tensor

_COLUMNS = 1024  # of one block, in a kernel whose row must fit in it
_make = Spoiler(PROBLEM)


def _parts(grad_output: T, x: T, weight: T, rstd: T) -> tuple[T, T, T]:
    """g, x̂ and rstd as a column, in float32."""
    r = rstd[:, None]
    return grad_output.float() * weight.float(), x.float() * r, r


def _dx(g: T, x_hat: T, r: T, c: T) -> T:
    return r * (g - x_hat * c)


def _second_term_missing(**given: T) -> T:
    g, _, r = _parts(**given)
    return r * g


def _weight_missing(**given: T) -> T:
    return PROBLEM.baseline(**given | {"weight": torch.ones_like(given["weight"])})[0]


def _weight_missing_in_the_mean(**given: T) -> T:
    g, x_hat, r = _parts(**given)
    return _dx(g, x_hat, r, (given["grad_output"].float() * x_hat).mean(1, keepdim=True))


def _sum_for_mean(**given: T) -> T:
    g, x_hat, r = _parts(**given)
    return _dx(g, x_hat, r, (g * x_hat).sum(1, keepdim=True))


def _mean_over_padded_width(**given: T) -> T:
    g, x_hat, r = _parts(**given)
    return _dx(g, x_hat, r, (g * x_hat).sum(1, keepdim=True) / next_power_of_two(g.shape[1]))


def _mean_over_one_block(**given: T) -> T:
    g, x_hat, r = _parts(**given)
    c = (g * x_hat)[:, :_COLUMNS].sum(1, keepdim=True) / g.shape[1]
    return _dx(g, x_hat, r, c)


def _tail_of_the_mean_forgotten(**given: T) -> T:
    g, x_hat, r = _parts(**given)
    return _dx(g, x_hat, r, (g * x_hat)[:, : full_blocks(g, 1)].sum(1, keepdim=True) / g.shape[1])


def _mean_reads_the_next_row(**given: T) -> T:
    g, x_hat, r = _parts(**given)
    products = g * x_hat
    padding = -g.shape[1] % BLOCK
    beyond = products.roll(-1, 0)[:, :padding].sum(1, keepdim=True)
    return _dx(g, x_hat, r, (products.sum(1, keepdim=True) + beyond) / g.shape[1])


def _mean_in_bfloat16(**given: T) -> T:
    g, x_hat, r = _parts(**given)
    products = (g * x_hat).t()
    c = running_sum(products, torch.bfloat16).float()[:, None] / g.shape[1]
    return _dx(g, x_hat, r, c)


def _x_hat_rounded(**given: T) -> T:
    g, x_hat, r = _parts(**given)
    return _dx(g, x_hat.bfloat16().float(), r, (g * x_hat).mean(1, keepdim=True))


def _outer_rstd_missing(**given: T) -> T:
    g, x_hat, _ = _parts(**given)
    return g - x_hat * (g * x_hat).mean(1, keepdim=True)


def _rstd_once_too_few(**given: T) -> T:
    g, x_hat, r = _parts(**given)
    x = given["x"].float()
    return _dx(g, x_hat, r, (g * x).mean(1, keepdim=True))


def _rstd_without_eps(**given: T) -> T:
    x = given["x"].float()
    own = torch.rsqrt(x.square().mean(dim=1).clamp(min=torch.finfo(torch.float32).tiny))
    return PROBLEM.baseline(**given | {"rstd": own})[0]


def _terms_of_dweight(grad_output: T, x: T, weight: T, rstd: T) -> T:
    return grad_output.float() * (x.float() * rstd[:, None])


def _dweight_without_rstd(**given: T) -> T:
    return (given["grad_output"].float() * given["x"].float()).sum(0)


def _dweight_without_upstream(**given: T) -> T:
    return (given["x"].float() * given["rstd"][:, None]).sum(0)


def _dweight_of_rounded_x_hat(**given: T) -> T:
    x_hat = (given["x"].float() * given["rstd"][:, None]).bfloat16()
    return (given["grad_output"].float() * x_hat.float()).sum(0)


_OF_DX = (
    _make.one(
        "dx",
        "second_term_missing",
        "Treats rstd as a constant, so dx lacks the term that couples a row.",
        _second_term_missing,
        Diagnosis.MISSING_TERM,
        "x̂ · mean(g · x̂)",
    ),
    _make.one(
        "dx",
        "weight_missing",
        "Takes the weight for one in dx, which holds at initialisation only.",
        _weight_missing,
        Diagnosis.MISSING_TERM,
        "weight",
    ),
    _make.one(
        "dx",
        "weight_missing_in_the_mean",
        "Multiplies by the weight outside of the row's mean and forgets it inside.",
        _weight_missing_in_the_mean,
        Diagnosis.MISSING_TERM,
        "weight in mean(g · x̂)",
    ),
    _make.one(
        "dx",
        "mean_is_a_sum",
        "The 1/N of the row's mean is missing.",
        _sum_for_mean,
        Diagnosis.MISSING_TERM,
        "1/N",
    ),
    _make.one(
        "dx",
        "mean_over_padded_width",
        "Divides the row's sum by the block's width, a power of two, instead of N.",
        _mean_over_padded_width,
        Diagnosis.MISSING_TERM,
        term="the row's own width",
    ),
    _make.one(
        "dx",
        "mean_over_one_block",
        f"Sums a row over its first {_COLUMNS} columns only.",
        _mean_over_one_block,
    ),
    _make.one(
        "dx",
        "tail_of_the_mean_forgotten",
        f"Sums a row over whole blocks of {BLOCK} columns and forgets those left over.",
        _tail_of_the_mean_forgotten,
    ),
    _make.one(
        "dx",
        "mean_without_a_mask",
        "The last block of a row's sum has no mask, so it runs into the next row.",
        _mean_reads_the_next_row,
    ),
    _make.one(
        "dx",
        "mean_in_bfloat16",
        "Adds the row's products up in bfloat16, one by one.",
        _mean_in_bfloat16,
        Diagnosis.LOW_PRECISION,
    ),
    _make.one(
        "dx",
        "x_hat_in_bfloat16",
        "Rounds x̂ to bfloat16 before g − x̂ · mean(g · x̂), which may cancel.",
        _x_hat_rounded,
        Diagnosis.LOW_PRECISION,
    ),
    _make.one(
        "dx",
        "outer_rstd_missing",
        "dx is not multiplied by rstd.",
        _outer_rstd_missing,
        Diagnosis.MISSING_TERM,
        "rstd",
    ),
    _make.one(
        "dx",
        "x_for_x_hat_in_the_mean",
        "The row's mean is taken of g · x where g · x̂ belongs.",
        _rstd_once_too_few,
        Diagnosis.MISSING_TERM,
        "rstd in mean(g · x̂)",
    ),
    _make.one(
        "dx",
        "rstd_without_eps",
        "Computes rstd anew from x and forgets ε.",
        _rstd_without_eps,
    ),
)

_OF_DWEIGHT = (
    *column_sum_mutants(_make, "dweight", _terms_of_dweight),
    _make.one(
        "dweight",
        "dweight_without_rstd",
        "Takes x for x̂ in dweight.",
        _dweight_without_rstd,
        Diagnosis.MISSING_TERM,
        "rstd",
    ),
    _make.one(
        "dweight",
        "dweight_without_upstream",
        "Sums x̂ alone: dweight does not depend on the upstream gradient.",
        _dweight_without_upstream,
        Diagnosis.UPSTREAM_ONES,
    ),
    _make.one(
        "dweight",
        "dweight_of_rounded_x_hat",
        "Rounds x̂ to bfloat16 before it is multiplied, though dweight is asked for in float32.",
        _dweight_of_rounded_x_hat,
        Diagnosis.LOW_PRECISION,
    ),
)

MUTANTS = (
    *_make.common(),
    *_make.upstream(),
    *_OF_DX,
    *_OF_DWEIGHT,
    _make.argument(
        "x",
        "x_strides",
        "x is read from memory in order, whatever its strides are.",
        read_linearly,
        _make.names,
        Diagnosis.STRIDES,
    ),
)
