"""Layer norm's mutants: each term and factor left out once, all four sums cut short or made coarse."""

from __future__ import annotations

from collections.abc import Callable

import torch

from problems.column_sums import column_sum_mutants
from problems.layer_norm.problem import PROBLEM
from problems.mutants import (
    BLOCK,
    Diagnosis,
    Mutant,
    Spoiler,
    full_blocks,
    next_power_of_two,
    read_linearly,
    running_sum,
)

T = torch.Tensor

_COLUMNS = 1024  # of one block, in a kernel whose row must fit in it
_make = Spoiler(PROBLEM)


def _parts(grad_output: T, x: T, weight: T, mean: T, rstd: T) -> tuple[T, T, T]:
    """g, x̂ and rstd as a column, in float32."""
    r = rstd[:, None]
    return grad_output.float() * weight.float(), (x.float() - mean[:, None]) * r, r


def _mean(rows: T) -> T:
    return rows.mean(1, keepdim=True)


def _dx(g: T, x_hat: T, r: T, through_mean: T, through_rstd: T) -> T:
    return r * (g - through_mean - x_hat * through_rstd)


def _both_terms_missing(**given: T) -> T:
    g, _, r = _parts(**given)
    return r * g


def _mean_term_missing(**given: T) -> T:
    g, x_hat, r = _parts(**given)
    return r * (g - x_hat * _mean(g * x_hat))


def _rstd_term_missing(**given: T) -> T:
    g, _, r = _parts(**given)
    return r * (g - _mean(g))


def _weight_missing(**given: T) -> T:
    return PROBLEM.baseline(**given | {"weight": torch.ones_like(given["weight"])})[0]


def _weight_missing_in_the_means(**given: T) -> T:
    g, x_hat, r = _parts(**given)
    dy = given["grad_output"].float()
    return _dx(g, x_hat, r, _mean(dy), _mean(dy * x_hat))


def _outer_rstd_missing(**given: T) -> T:
    g, x_hat, _ = _parts(**given)
    return g - _mean(g) - x_hat * _mean(g * x_hat)


def _mean_not_subtracted(**given: T) -> T:
    return PROBLEM.baseline(**given | {"mean": torch.zeros_like(given["mean"])})[0]


def _mean_in_bfloat16(**given: T) -> T:
    return PROBLEM.baseline(**given | {"mean": given["mean"].bfloat16().float()})[0]


def _rstd_in_bfloat16(**given: T) -> T:
    return PROBLEM.baseline(**given | {"rstd": given["rstd"].bfloat16().float()})[0]


def _rstd_of_the_unbiased_variance(**given: T) -> T:
    N = given["x"].shape[1]
    return PROBLEM.baseline(**given | {"rstd": given["rstd"] * (max(N - 1, 1) / N) ** 0.5})[0]


def _row_sums(change: Callable[[T], T]) -> Callable[..., T]:
    """dx with both sums over a row taken by `change`, which returns a column."""

    def dx(**given: T) -> T:
        g, x_hat, r = _parts(**given)
        N = g.shape[1]
        return _dx(g, x_hat, r, change(g) / N, change(g * x_hat) / N)

    return dx


def _over_padded_width(terms: T) -> T:
    return terms.sum(1, keepdim=True) * terms.shape[1] / next_power_of_two(terms.shape[1])


def _without_a_mask(terms: T) -> T:
    beyond = terms.roll(-1, 0)[:, : -terms.shape[1] % BLOCK].sum(1, keepdim=True)
    return terms.sum(1, keepdim=True) + beyond


def _in_bfloat16(terms: T) -> T:
    return running_sum(terms.t(), torch.bfloat16).float()[:, None]


def _terms_of_dweight(grad_output: T, x: T, weight: T, mean: T, rstd: T) -> T:
    return grad_output.float() * ((x.float() - mean[:, None]) * rstd[:, None])


def _terms_of_dbias(grad_output: T, x: T, weight: T, mean: T, rstd: T) -> T:
    return grad_output.float()


def _dweight_without_rstd(**given: T) -> T:
    return (given["grad_output"].float() * (given["x"].float() - given["mean"][:, None])).sum(0)


def _dweight_without_centring(**given: T) -> T:
    return (given["grad_output"].float() * (given["x"].float() * given["rstd"][:, None])).sum(0)


def _dweight_of_rounded_x_hat(**given: T) -> T:
    _, x_hat, _ = _parts(**given)
    return (given["grad_output"].float() * x_hat.bfloat16().float()).sum(0)


def _dbias_of_g(**given: T) -> T:
    return _parts(**given)[0].sum(0)


def _of_dx(
    name: str,
    what: str,
    wrong: Callable[..., T],
    diagnosis: Diagnosis | None = None,
    term: str = "",
) -> Mutant:
    return _make.one("dx", name, what, wrong, diagnosis, term)


def _missing(name: str, what: str, wrong: Callable[..., T], term: str) -> Mutant:
    return _of_dx(name, what, wrong, Diagnosis.MISSING_TERM, term)


_TERMS_OF_DX = (
    _missing(
        "both_terms_missing",
        "Treats mean and rstd as constants, so dx lacks both terms that couple a row.",
        _both_terms_missing,
        "mean(g) and x̂ · mean(g · x̂)",
    ),
    _missing(
        "mean_term_missing",
        "Leaves out the term through the mean, as for RMSNorm.",
        _mean_term_missing,
        "mean(g)",
    ),
    _missing(
        "rstd_term_missing",
        "Leaves out the term through rstd.",
        _rstd_term_missing,
        "x̂ · mean(g · x̂)",
    ),
    _missing(
        "weight_missing",
        "Takes the weight for one in dx, which holds at initialisation only.",
        _weight_missing,
        "weight",
    ),
    _missing(
        "weight_missing_in_the_means",
        "Multiplies by the weight outside of the row's means and forgets it inside.",
        _weight_missing_in_the_means,
        "weight in both means",
    ),
    _missing("outer_rstd_missing", "dx is not multiplied by rstd.", _outer_rstd_missing, "rstd"),
    _missing(
        "mean_not_subtracted",
        "Takes x · rstd for x̂ in dx, as for RMSNorm.",
        _mean_not_subtracted,
        "the mean in x̂",
    ),
    _of_dx(
        "mean_in_bfloat16",
        "Rounds the saved mean to bfloat16, which rows far from zero do not forgive.",
        _mean_in_bfloat16,
    ),
    _of_dx(
        "rstd_in_bfloat16",
        "Rounds the saved rstd to bfloat16, so each row of dx has a factor of its own.",
        _rstd_in_bfloat16,
        Diagnosis.LOW_PRECISION,
    ),
    _of_dx(
        "rstd_of_the_unbiased_variance",
        "Takes rstd for that of the variance with N − 1, and corrects it.",
        _rstd_of_the_unbiased_variance,
    ),
)

_SUMS_OF_DX = (
    _missing(
        "means_are_sums",
        "The 1/N of both row means is missing.",
        _row_sums(lambda terms: terms.sum(1, keepdim=True) * terms.shape[1]),
        "1/N",
    ),
    _missing(
        "means_over_padded_width",
        "Divides both row sums by the block's width, a power of two, instead of N.",
        _row_sums(_over_padded_width),
        "the row's own width",
    ),
    _of_dx(
        "means_over_one_block",
        f"Sums a row over its first {_COLUMNS} columns only.",
        _row_sums(lambda terms: terms[:, :_COLUMNS].sum(1, keepdim=True)),
    ),
    _of_dx(
        "tail_of_the_means_forgotten",
        f"Sums a row over whole blocks of {BLOCK} columns and forgets those left over.",
        _row_sums(lambda terms: terms[:, : full_blocks(terms, 1)].sum(1, keepdim=True)),
    ),
    _of_dx(
        "means_without_a_mask",
        "The last block of a row's sums has no mask, so it runs into the next row.",
        _row_sums(_without_a_mask),
    ),
    _of_dx(
        "means_in_bfloat16",
        "Adds both row sums up in bfloat16, one by one.",
        _row_sums(_in_bfloat16),
        Diagnosis.LOW_PRECISION,
    ),
)

_OF_DWEIGHT = (
    *column_sum_mutants(_make, "dweight", _terms_of_dweight),
    _make.one(
        "dweight",
        "dweight_without_rstd",
        "Takes x − mean for x̂ in dweight.",
        _dweight_without_rstd,
        Diagnosis.MISSING_TERM,
        "rstd",
    ),
    _make.one(
        "dweight",
        "dweight_without_centring",
        "Takes x · rstd for x̂ in dweight.",
        _dweight_without_centring,
        Diagnosis.MISSING_TERM,
        "the mean in x̂",
    ),
    _make.one(
        "dweight",
        "dweight_of_rounded_x_hat",
        "Rounds x̂ to bfloat16 before it is multiplied, though dweight is asked for in float32.",
        _dweight_of_rounded_x_hat,
        Diagnosis.LOW_PRECISION,
    ),
)

_OF_DBIAS = (
    *column_sum_mutants(_make, "dbias", _terms_of_dbias),
    _make.one(
        "dbias",
        "dbias_times_weight",
        "Sums g where the upstream gradient belongs: the bias is added after the weight.",
        _dbias_of_g,
        Diagnosis.MISSING_TERM,
        "1/weight",
    ),
)

MUTANTS = (
    *_make.common(),
    *_make.upstream(),
    *_TERMS_OF_DX,
    *_SUMS_OF_DX,
    *_OF_DWEIGHT,
    *_OF_DBIAS,
    _make.argument(
        "x",
        "x_strides",
        "x is read from memory in order, whatever its strides are.",
        read_linearly,
        ["dx", "dweight"],
        Diagnosis.STRIDES,
    ),
)
