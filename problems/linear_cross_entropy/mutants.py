"""The fused loss's mutants: either term, the mean, ignored rows, the exponential, both sums, strides."""

from __future__ import annotations

from dataclasses import replace

import torch

from problems.linear_cross_entropy import mistakes
from problems.linear_cross_entropy.formulas import (
    Steps,
    difference,
    in_low_precision,
    kept_rows,
    one_hot,
    probabilities,
    rounded_to_bfloat16,
    scale_of,
)
from problems.linear_cross_entropy.problem import PROBLEM
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

T = torch.Tensor

BOTH = ("dhidden", "dweight")
_CLASSES = 1024  # of one block
_make = Spoiler(PROBLEM)


def _mutant(
    name: str,
    what: str,
    steps: Steps,
    gradients: tuple[str, ...] = BOTH,
    diagnosis: Diagnosis | None = None,
    term: str = "",
) -> Mutant:
    """`steps` in a kernel's precision."""
    own = steps.rounded
    steps = replace(steps, rounded=lambda dz: rounded_to_bfloat16(own(dz)))
    return Mutant(
        name, what, lambda **given: in_low_precision(steps, given), gradients, diagnosis, term
    )


def _missing(name: str, what: str, steps: Steps, term: str) -> Mutant:
    return _mutant(name, what, steps, BOTH, Diagnosis.MISSING_TERM, term)


def _as_its_transpose(matrix: T) -> T:
    """What a kernel reads that takes (A, B) in memory for (B, A): square, the transpose."""
    rows, columns = matrix.shape
    return matrix.contiguous().view(columns, rows).t()


def _scale_without_care(grad_output: T, target: T) -> T:
    return grad_output / kept_rows(target).sum()


def _rows_counted_in_one_block(grad_output: T, target: T) -> T:
    return scale_of(grad_output, target[:BLOCK])


def _one_hot_beyond_the_last_block(p: T, target: T) -> T:
    whole = p.shape[1] // BLOCK * BLOCK
    return difference(p, torch.where((target >= whole) & kept_rows(target), p.shape[1], target))


def _one_hot_of_the_first_piece(p: T, target: T) -> T:
    """Column numbers begin at 0 in every piece of the vocabulary, and so do the targets."""
    hot = one_hot(target, p.shape[1], p.dtype)
    again = hot[:, : p.shape[1] // 2]
    wrong = torch.cat((again, again, hot[:, 2 * again.shape[1] :]), dim=1)
    return torch.where(kept_rows(target)[:, None], p - wrong, 0)


def _probability_rounded_first(p: T, target: T) -> T:
    return difference(rounded_to_bfloat16(p), target)


def _ignored_as_the_last_class(p: T, target: T) -> T:
    """A negative index counts from the end, as it does in Python."""
    return p - one_hot(torch.where(kept_rows(target), target, p.shape[1] - 1), p.shape[1], p.dtype)


def _normalised_over_one_block(z: T, lse: T) -> T:
    return probabilities(z, z[:, :_CLASSES].logsumexp(dim=1))


def _softmax_without_maximum(z: T, lse: T) -> T:
    exponential = torch.exp(z)
    return exponential / exponential.sum(dim=1, keepdim=True)


def _dweight_by_rows(dz: T, hidden: T, block: int) -> T:
    """What each block of rows adds to dweight, (blocks, V, K)."""
    blocks = zip(torch.split(dz, block), torch.split(hidden, block), strict=True)
    return torch.stack([d.t() @ h for d, h in blocks])


def _dhidden_by_classes(dz: T, weight: T, block: int) -> T:
    """What each block of classes adds to dhidden, (blocks, M, K)."""
    blocks = zip(torch.split(dz, block, dim=1), torch.split(weight, block), strict=True)
    return torch.stack([d @ w for d, w in blocks])


_OF_THE_TERMS = (
    _missing(
        "softmax_missing",
        "The one-hot alone is projected, nearly all of the norm, and no logit is ever made.",
        mistakes.NO_SOFTMAX,
        "softmax",
    ),
    _missing(
        "one_hot_missing",
        "The softmax alone is projected.",
        mistakes.NO_ONE_HOT,
        "one-hot",
    ),
    _missing(
        "one_class_too_far",
        "The one-hot is subtracted in the class after.",
        mistakes.NEXT_CLASS,
        "the right class",
    ),
    _mutant(
        "one_hot_missing_in_the_last_block",
        f"Targets beyond the last full block of {BLOCK} classes are not subtracted.",
        Steps(difference=_one_hot_beyond_the_last_block),
    ),
    _mutant(
        "one_hot_in_every_piece",
        "Targets are compared with column numbers of the piece, which begin at 0 in each of two.",
        Steps(difference=_one_hot_of_the_first_piece),
    ),
)

_OF_THE_MEAN = (
    _missing(
        "mean_missing",
        "Nothing divides by the number of rows: the gradient of the sum of the losses.",
        mistakes.SUM_FOR_MEAN,
        "the mean's 1/M",
    ),
    _missing(
        "mean_over_ignored_rows_too",
        "Divides by all rows, ignored ones included.",
        mistakes.MEAN_OF_ALL,
        "the number of rows that count",
    ),
    _mutant(
        "rows_counted_in_one_block",
        f"Counts the rows that matter among the first {BLOCK} only.",
        Steps(scale=_rows_counted_in_one_block),
    ),
)

_OF_IGNORED_ROWS = (
    _missing(
        "ignored_rows_not_zeroed",
        "Counts ignored rows out of the mean but leaves a softmax in them.",
        mistakes.IGNORED_ROWS_KEPT,
        "the mask of ignored rows",
    ),
    _mutant(
        "ignored_rows_as_the_last_class",
        "A target of -100 is clamped into the last class, and its row counts in both products.",
        Steps(difference=_ignored_as_the_last_class),
        BOTH,
        Diagnosis.IGNORED_ROWS,
    ),
    _mutant(
        "all_ignored_is_nan",
        "Divides by the number of rows that count without asking whether there are any.",
        Steps(scale=_scale_without_care),
        BOTH,
        Diagnosis.NOT_FINITE,
    ),
)

_OF_THE_SOFTMAX = (
    _missing(
        "lse_to_base_two",
        "Takes lse, a natural logarithm, for one to base 2.",
        mistakes.BASE_TWO,
        "the factor log2 e of lse",
    ),
    _mutant(
        "softmax_without_maximum",
        "Divides exp(logits) by its sum, which overflows where logits are large.",
        Steps(probabilities=_softmax_without_maximum),
        BOTH,
        Diagnosis.NOT_FINITE,
    ),
    _mutant(
        "normalised_over_one_block",
        f"Normalises over the first {_CLASSES} classes only.",
        Steps(probabilities=_normalised_over_one_block),
    ),
    _mutant(
        "logits_in_bfloat16",
        "Rounds the logits to bfloat16, as a library product does, before the exponential.",
        Steps(logits=lambda h, w: rounded_to_bfloat16(h @ w.t())),
    ),
    _mutant(
        "lse_in_bfloat16",
        "Rounds lse to bfloat16.",
        Steps(probabilities=lambda z, lse: probabilities(z, rounded_to_bfloat16(lse))),
    ),
    _mutant(
        "probability_rounded_first",
        "Rounds p to bfloat16 before one is subtracted: of p − 1 near 0 few bits are left.",
        Steps(difference=_probability_rounded_first),
    ),
    _mutant(
        "difference_in_float8",
        "Rounds the difference of softmax and one-hot to an 8-bit float with 3 bits of mantissa.",
        Steps(rounded=lambda dz: dz.to(torch.float8_e4m3fn).float()),
    ),
)

_OF_DHIDDEN = (
    _mutant(
        "dhidden_over_one_block",
        f"dhidden adds up the first {BLOCK} classes only.",
        Steps(dhidden=lambda dz, w: dz[:, :BLOCK] @ w[:BLOCK]),
        ("dhidden",),
        Diagnosis.ONE_BLOCK,
    ),
    _mutant(
        "dhidden_of_the_last_piece",
        f"Pieces of {BLOCK} classes overwrite dhidden, so the last one is left.",
        Steps(dhidden=lambda dz, w: _dhidden_by_classes(dz, w, BLOCK)[-1]),
        ("dhidden",),
        Diagnosis.ONE_BLOCK,
    ),
    _mutant(
        "dhidden_in_bfloat16",
        "dhidden is accumulated in bfloat16, 16 classes at a time.",
        Steps(dhidden=lambda dz, w: _rounded_sum(_dhidden_by_classes(dz, w, 16))),
        ("dhidden",),
    ),
    _mutant(
        "dhidden_races",
        "Blocks of classes add to dhidden without atomics, so that some of what they add is lost.",
        Steps(dhidden=lambda dz, w: lose_updates(_dhidden_by_classes(dz, w, BLOCK)).sum(0)),
        ("dhidden",),
    ),
    _mutant(
        "weight_transposed",
        "The weight's memory is read as (K, V) in the product for dhidden.",
        Steps(dhidden=lambda dz, w: dz @ _as_its_transpose(w)),
        ("dhidden",),
    ),
)

_OF_DWEIGHT = (
    _mutant(
        "dweight_over_one_block",
        f"dweight adds up the first {BLOCK} rows only.",
        Steps(dweight=lambda dz, h: dz[:BLOCK].t() @ h[:BLOCK]),
        ("dweight",),
    ),
    _mutant(
        "dweight_of_the_last_chunk",
        f"Chunks of {BLOCK} rows overwrite dweight, so the last one is left.",
        Steps(dweight=lambda dz, h: _dweight_by_rows(dz, h, BLOCK)[-1]),
        ("dweight",),
    ),
    _mutant(
        "dweight_in_bfloat16",
        "Chunks of 8 rows are added up in bfloat16.",
        Steps(dweight=lambda dz, h: _rounded_sum(_dweight_by_rows(dz, h, 8))),
        ("dweight",),
    ),
    _mutant(
        "dweight_races",
        "Chunks of rows add to dweight without atomics, so that some of what they add is lost.",
        Steps(dweight=lambda dz, h: lose_updates(_dweight_by_rows(dz, h, BLOCK)).sum(0)),
        ("dweight",),
    ),
    _mutant(
        "tail_of_dweight_forgotten",
        "dweight adds up whole blocks of 16 rows and forgets those left over.",
        Steps(dweight=lambda dz, h: dz[: full_blocks(dz, 0, 16)].t() @ h[: full_blocks(dz, 0, 16)]),
        ("dweight",),
    ),
)


def _rounded_sum(terms: T) -> T:
    return running_sum(terms, torch.bfloat16).float()


def _strides(argument: str) -> Mutant:
    return _make.argument(
        argument,
        f"{argument}_strides",
        f"{argument} is read from memory in order, whatever its strides are.",
        read_linearly,
        BOTH,
        Diagnosis.STRIDES,
    )


MUTANTS = (
    *_make.common(),
    _make.argument(
        "grad_output",
        "upstream_ones",
        "Takes the upstream gradient for one, as it is when the loss is the last thing computed.",
        torch.ones_like,
        BOTH,
        Diagnosis.UPSTREAM_ONES,
    ),
    _strides("hidden"),
    _strides("weight"),
    *_OF_THE_TERMS,
    *_OF_THE_MEAN,
    *_OF_IGNORED_ROWS,
    *_OF_THE_SOFTMAX,
    *_OF_DHIDDEN,
    *_OF_DWEIGHT,
)
