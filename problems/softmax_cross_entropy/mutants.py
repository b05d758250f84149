"""Softmax cross-entropy's mutants: the mean, ignored rows, either term, the exponential, the strides."""

from __future__ import annotations

from collections.abc import Callable

import torch

from problems.mutants import BLOCK, Diagnosis, Mutant, Spoiler, lose_updates, read_linearly
from problems.softmax_cross_entropy.problem import PROBLEM
from problems.softmax_cross_entropy.sampling import IGNORE_INDEX

T = torch.Tensor

_CLASSES = 1024  # of one block
_make = Spoiler(PROBLEM)


def _softmax(logits: T, lse: T) -> T:
    return torch.exp(logits.float() - lse[:, None])


def _one_hot(target: T, classes: int) -> T:
    """Rows of zeros with a one at the target; an ignored row has it in class 0."""
    return torch.nn.functional.one_hot(target.clamp(min=0), classes).float()


def _kept(target: T) -> T:
    return (target != IGNORE_INDEX).float()


def _scale(grad_output: T, target: T) -> T:
    """The factor of each row, (M, 1)."""
    kept = _kept(target)
    return (grad_output * kept / kept.sum().clamp(min=1))[:, None]


def _difference(logits: T, target: T, lse: T) -> T:
    return _softmax(logits, lse) - _one_hot(target, logits.shape[1])


def _mean_missing(grad_output: T, logits: T, target: T, lse: T) -> T:
    return _difference(logits, target, lse) * (grad_output * _kept(target))[:, None]


def _mean_over_all_rows(grad_output: T, logits: T, target: T, lse: T) -> T:
    return _mean_missing(grad_output, logits, target, lse) / len(target)


def _mean_over_all_elements(grad_output: T, logits: T, target: T, lse: T) -> T:
    return _difference(logits, target, lse) * _scale(grad_output, target) / logits.shape[1]


def _kept_rows_counted_in_one_block(grad_output: T, logits: T, target: T, lse: T) -> T:
    counted = _kept(target[:BLOCK]).sum().clamp(min=1)
    return _mean_missing(grad_output, logits, target, lse) / counted


def _ignored_rows_not_zeroed(grad_output: T, logits: T, target: T, lse: T) -> T:
    return _difference(logits, target, lse) * grad_output / _kept(target).sum().clamp(min=1)


def _ignored_rows_are_nan(grad_output: T, logits: T, target: T, lse: T) -> T:
    unmasked = _difference(logits, target, lse) * _scale(grad_output, target)
    return torch.where(_kept(target)[:, None] > 0, unmasked, torch.nan)


def _all_ignored_is_nan(grad_output: T, logits: T, target: T, lse: T) -> T:
    kept = _kept(target)
    return _difference(logits, target, lse) * (grad_output / kept.sum() * kept)[:, None]


def _ignore_index_as_an_offset(grad_output: T, logits: T, target: T, lse: T) -> T:
    p = _softmax(logits, lse) * _scale(grad_output, target)
    M, V = logits.shape
    place = torch.arange(M) * V + target
    inside = place >= 0
    minus = grad_output.expand(M) / _kept(target).sum().clamp(min=1)
    flat = p.reshape(-1).index_add(0, place[inside], -minus[inside])
    return flat.reshape(M, V)


def _softmax_missing(grad_output: T, logits: T, target: T, lse: T) -> T:
    return -_one_hot(target, logits.shape[1]) * _scale(grad_output, target)


def _one_hot_missing(grad_output: T, logits: T, target: T, lse: T) -> T:
    return _softmax(logits, lse) * _scale(grad_output, target)


def _one_hot_beyond_the_first_block(grad_output: T, logits: T, target: T, lse: T) -> T:
    one_hot = _one_hot(target, logits.shape[1])
    one_hot[:, logits.shape[1] // BLOCK * BLOCK :] = 0
    return (_softmax(logits, lse) - one_hot) * _scale(grad_output, target)


def _softmax_without_maximum(grad_output: T, logits: T, target: T, lse: T) -> T:
    exponential = torch.exp(logits.float())
    p = exponential / exponential.sum(dim=1, keepdim=True)
    return (p - _one_hot(target, logits.shape[1])) * _scale(grad_output, target)


def _normalised_over_one_block(grad_output: T, logits: T, target: T, lse: T) -> T:
    own = logits[:, :_CLASSES].float().logsumexp(dim=1)
    return _difference(logits, target, own) * _scale(grad_output, target)


def _probability_rounded_first(grad_output: T, logits: T, target: T, lse: T) -> T:
    p = _softmax(logits, lse).bfloat16() - _one_hot(target, logits.shape[1]).bfloat16()
    return p.float() * _scale(grad_output, target)


def _exponent_in_bfloat16(grad_output: T, logits: T, target: T, lse: T) -> T:
    p = torch.exp((logits.float() - lse[:, None]).bfloat16().float())
    return (p - _one_hot(target, logits.shape[1])) * _scale(grad_output, target)


def _lse_in_bfloat16(grad_output: T, logits: T, target: T, lse: T) -> T:
    return _difference(logits, target, lse.bfloat16().float()) * _scale(grad_output, target)


def _one_hot_races(grad_output: T, logits: T, target: T, lse: T) -> T:
    one_hot = lose_updates(torch.ones(len(target)))[:, None] * _one_hot(target, logits.shape[1])
    return (_softmax(logits, lse) - one_hot) * _scale(grad_output, target)


def _target_off_by_one(grad_output: T, logits: T, target: T, lse: T) -> T:
    shifted = (target + 1).clamp(max=logits.shape[1] - 1)
    p = _softmax(logits, lse) - _one_hot(shifted, logits.shape[1])
    return p * _scale(grad_output, target)


def _spoil(
    name: str,
    what: str,
    wrong: Callable[..., T],
    diagnosis: Diagnosis | None = None,
    term: str = "",
) -> Mutant:
    return _make.one("dlogits", name, what, wrong, diagnosis, term)


_OF_THE_MEAN = (
    _spoil(
        "mean_missing",
        "Nothing divides by the number of rows: the gradient of the sum of the losses.",
        _mean_missing,
        Diagnosis.MISSING_TERM,
        term="the mean's 1/M",
    ),
    _spoil(
        "mean_over_ignored_rows_too",
        "Divides by all rows, ignored ones included.",
        _mean_over_all_rows,
        Diagnosis.MISSING_TERM,
        term="the number of rows that count",
    ),
    _spoil(
        "mean_over_all_elements",
        "Divides by rows times classes, as a mean over the whole matrix would.",
        _mean_over_all_elements,
        Diagnosis.CONSTANT_FACTOR,
    ),
    _spoil(
        "rows_counted_in_one_block",
        f"Counts the rows that matter among the first {BLOCK} only.",
        _kept_rows_counted_in_one_block,
        Diagnosis.CONSTANT_FACTOR,
    ),
)

_OF_IGNORED_ROWS = (
    _spoil(
        "ignored_rows_not_zeroed",
        "Counts ignored rows out of the mean but leaves a gradient in them.",
        _ignored_rows_not_zeroed,
        Diagnosis.IGNORED_ROWS,
    ),
    _spoil(
        "ignored_rows_are_nan",
        "Masks ignored rows with minus infinity on both sides of a subtraction, which leaves NaN.",
        _ignored_rows_are_nan,
        Diagnosis.IGNORED_ROWS,
    ),
    _spoil(
        "all_ignored_is_nan",
        "Divides by the number of rows that count without asking whether there are any.",
        _all_ignored_is_nan,
        Diagnosis.NOT_FINITE,
    ),
    _spoil(
        "ignore_index_as_an_offset",
        "Subtracts one at row · V + target for ignored rows too, a hundred elements before the row.",
        _ignore_index_as_an_offset,
    ),
)

_OF_THE_TERMS = (
    _spoil(
        "softmax_missing",
        "Returns the one-hot part alone, nearly all of the norm, and never reads the logits.",
        _softmax_missing,
        Diagnosis.MISSING_TERM,
        "softmax",
    ),
    _spoil(
        "one_hot_missing",
        "Returns the softmax alone.",
        _one_hot_missing,
        Diagnosis.MISSING_TERM,
        "one-hot",
    ),
    _spoil(
        "one_hot_missing_in_the_last_block",
        f"Targets beyond the last full block of {BLOCK} classes are not subtracted.",
        _one_hot_beyond_the_first_block,
    ),
    _spoil("one_hot_races", "Now and then the one of a row's target is lost.", _one_hot_races),
    _spoil("target_off_by_one", "Subtracts the one in the class after.", _target_off_by_one),
)

_OF_THE_SOFTMAX = (
    _spoil(
        "softmax_without_maximum",
        "Divides exp(logits) by its sum, which overflows where logits are large.",
        _softmax_without_maximum,
        Diagnosis.NOT_FINITE,
    ),
    _spoil(
        "normalised_over_one_block",
        f"Normalises over the first {_CLASSES} classes only.",
        _normalised_over_one_block,
    ),
    _spoil(
        "probability_rounded_first",
        "Rounds p to bfloat16 before one is subtracted: of p − 1 near 0 few bits are left.",
        _probability_rounded_first,
        Diagnosis.LOW_PRECISION,
    ),
    _spoil(
        "exponent_in_bfloat16",
        "Rounds logits − lse to bfloat16 before the exponential.",
        _exponent_in_bfloat16,
        Diagnosis.LOW_PRECISION,
    ),
    _spoil(
        "lse_in_bfloat16",
        "Rounds lse to bfloat16.",
        _lse_in_bfloat16,
        Diagnosis.LOW_PRECISION,
    ),
)

MUTANTS = (
    *_make.common(),
    _make.argument(
        "grad_output",
        "upstream_ones",
        "Takes the upstream gradient for one, as it is when the loss is the last thing computed.",
        torch.ones_like,
        ["dlogits"],
        Diagnosis.UPSTREAM_ONES,
    ),
    _make.argument(
        "logits",
        "logits_strides",
        "The logits are read from memory in order, whatever their strides are.",
        read_linearly,
        ["dlogits"],
        Diagnosis.STRIDES,
    ),
    *_OF_THE_MEAN,
    *_OF_IGNORED_ROWS,
    *_OF_THE_TERMS,
    *_OF_THE_SOFTMAX,
)
