"""Attention's mutants: the softmax's Jacobian, scales, masks, documents, groups, strides, precision."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from problems.flash_attention import mistakes
from problems.flash_attention.formulas import (
    Document,
    Steps,
    causal,
    in_low_precision,
    rounded_to_bfloat16,
)
from problems.flash_attention.problem import PROBLEM
from problems.mutants import (
    BLOCK,
    Backward,
    Diagnosis,
    Mutant,
    Spoiler,
    full_blocks,
    lose_updates,
    read_linearly,
    running_sum,
)
from problems.spec import Gradients

T = torch.Tensor

ALL = ("dq", "dk", "dv")
OF_SCORES = ("dq", "dk")
OF_KEYS = ("dk", "dv")
_make = Spoiler(PROBLEM)
_right = Steps(rounded=rounded_to_bfloat16)


def _mutant(
    name: str,
    what: str,
    steps: Steps,
    gradients: tuple[str, ...],
    diagnosis: Diagnosis | None = None,
    term: str = "",
) -> Mutant:
    """`steps` on a kernel's precision."""
    steps = replace(steps, rounded=rounded_to_bfloat16)
    return Mutant(
        name, what, lambda **given: in_low_precision(steps, given), gradients, diagnosis, term
    )


def _missing(name: str, what: str, steps: Steps, gradients: tuple[str, ...], term: str) -> Mutant:
    return _mutant(name, what, steps, gradients, Diagnosis.MISSING_TERM, term)


def _last_block_unmasked(scores: T) -> T:
    visible = causal(scores)
    whole = (scores.shape[-1] - 1) // BLOCK * BLOCK
    visible[whole:, whole:] = True
    return visible


def _whole_blocks_of_keys(scores: T) -> T:
    visible = causal(scores)
    visible[:, full_blocks(scores, -1, 32) :] = False
    return visible


def _own_tile_only(scores: T) -> T:
    """The loop over tiles of keys stops after the one on the diagonal began: earlier ones are lost."""
    tile = torch.arange(scores.shape[-1]) // 32
    return causal(scores) & (tile[:, None] == tile)


def _delta_in_bfloat16(d: Document, p: T, dp: T) -> T:
    products = (d.grad_output * d.out).movedim(-1, 0)
    return running_sum(products, torch.bfloat16).float()[..., None]


def _delta_of_the_head_before(d: Document, p: T, dp: T) -> T:
    delta = (d.grad_output * d.out).sum(-1, keepdim=True)
    return delta.flatten(0, 1).roll(1, 0).reshape(delta.shape)


def _key_by_key_in_bfloat16(ds: T, k: T) -> T:
    terms = torch.stack([ds[..., j, None] * k[..., j, None, :] for j in range(k.shape[-2])])
    return running_sum(terms, torch.bfloat16).float()


def _racing_tiles_of_keys(ds: T, k: T) -> T:
    tiles = zip(torch.split(ds, 32, -1), torch.split(k, 32, -2), strict=True)
    return torch.stack([lose_updates(part @ keys) for part, keys in tiles]).sum(0)


def _group_in_bfloat16(x: T) -> T:
    return running_sum(x.transpose(0, 1), torch.bfloat16).float()


def _changed(change: Callable[..., dict[str, Any]]) -> Backward:
    """The right steps on changed arguments."""

    def backward(**given: T) -> Gradients:
        return in_low_precision(_right, given | change(**given))

    return backward


def _padding_is_nan(**given: T) -> Gradients:
    dq, dk, dv = in_low_precision(_right, given)
    dq[int(given["cu_seqlens"][-1]) :] = torch.nan
    return dq, dk, dv


def _padding_as_document(**given: T) -> dict[str, T]:
    bounds = given["cu_seqlens"].clone()
    bounds[-1] = given["q"].shape[0]
    return {"cu_seqlens": bounds}


def _heads_in_turn(**given: T) -> Gradients:
    wide = {n: t.float() if t.is_floating_point() else t for n, t in given.items()}
    dq, dk, dv = mistakes.heads_in_turn(**wide)
    return dq.bfloat16(), dk.bfloat16(), dv.bfloat16()


def _keys_and_values_swapped(**given: T) -> Gradients:
    dq, dk, dv = in_low_precision(_right, given)
    return dq, dv, dk


_OF_THE_SOFTMAX = (
    _missing(
        "delta_missing",
        "The softmax's Jacobian is taken for a diagonal: delta is not subtracted.",
        mistakes.NO_DELTA,
        OF_SCORES,
        "delta",
    ),
    _missing(
        "probability_missing",
        "dS lacks the factor P.",
        mistakes.NO_PROBABILITY,
        OF_SCORES,
        "P",
    ),
    _missing(
        "lse_to_base_two",
        "Takes lse, a natural logarithm, for one to base 2.",
        mistakes.BASE_TWO,
        ALL,
        "the factor log2 e of lse",
    ),
    _mutant(
        "delta_in_bfloat16",
        "Adds delta up in bfloat16.",
        Steps(delta=_delta_in_bfloat16),
        OF_SCORES,
    ),
    _mutant(
        "delta_of_another_head",
        "Reads the delta of the head before.",
        Steps(delta=_delta_of_the_head_before),
        OF_SCORES,
    ),
    _mutant(
        "lse_in_bfloat16",
        "Rounds lse to bfloat16.",
        Steps(exponent=lambda s, lse: s - rounded_to_bfloat16(lse)),
        ALL,
    ),
    _mutant(
        "scores_in_bfloat16",
        "Rounds the scores to bfloat16 before the exponential.",
        Steps(exponent=lambda s, lse: rounded_to_bfloat16(s) - lse),
        ALL,
    ),
    _mutant(
        "difference_in_bfloat16",
        "Rounds dP and delta to bfloat16 before the one is subtracted from the other.",
        Steps(
            dscores=lambda p, dp, delta: (
                p * rounded_to_bfloat16(rounded_to_bfloat16(dp) - rounded_to_bfloat16(delta))
            )
        ),
        OF_SCORES,
    ),
)

_OF_THE_SCALE = (
    _missing(
        "scale_missing",
        "dq and dk are not multiplied by the scale.",
        mistakes.UNSCALED,
        OF_SCORES,
        "the scale",
    ),
    _missing(
        "scale_missing_in_dk",
        "dk is not multiplied by the scale, dq is.",
        Steps(dk_scale=lambda D: 1.0),
        ("dk",),
        "the scale",
    ),
    _missing(
        "scale_twice",
        "dq and dk are multiplied by the scale twice.",
        mistakes.SCALED_TWICE,
        OF_SCORES,
        "the scale, once too often",
    ),
    _missing(
        "scores_not_scaled",
        "The scores are recomputed without the scale that lse was made with.",
        mistakes.UNSCALED_SCORES,
        ALL,
        "the scale of the scores",
    ),
)

_OF_THE_MASK = (
    _missing(
        "diagonal_masked",
        "The causal mask is off by one: a token does not see itself.",
        mistakes.up_to(-1),
        ALL,
        "the diagonal",
    ),
    _missing(
        "one_key_too_many",
        "The causal mask is off by one: a token sees the next one.",
        mistakes.up_to(1),
        ALL,
        "one row of the mask",
    ),
    _missing(
        "not_causal",
        "There is no causal mask.",
        mistakes.up_to(1 << 30),
        ALL,
        "the mask",
    ),
    _mutant(
        "last_block_unmasked",
        f"The causal mask is left out in the last block of {BLOCK} rows.",
        Steps(visible=_last_block_unmasked),
        ALL,
    ),
    _mutant(
        "last_keys_forgotten",
        "Keys beyond the last full block of 32 are never visited.",
        Steps(visible=_whole_blocks_of_keys),
        ALL,
    ),
    _mutant(
        "diagonal_tiles_only",
        "Only the tiles of 32 on the diagonal are visited.",
        Steps(visible=_own_tile_only),
        ALL,
    ),
)

_OF_DOCUMENTS = (
    Mutant(
        "documents_ignored",
        "Tokens see those of the documents before theirs.",
        _changed(lambda **given: {"cu_seqlens": mistakes.whole(given["cu_seqlens"])}),
        ALL,
        Diagnosis.MISSING_TERM,
        "the documents' boundaries",
    ),
    Mutant(
        "padding_is_nan",
        "Rows of P without a visible key are normalised all the same, which leaves NaN.",
        _padding_is_nan,
        ("dq",),
        Diagnosis.IGNORED_ROWS,
    ),
    Mutant(
        "padding_as_document",
        "Tokens after the last document are taken for a part of it.",
        _changed(_padding_as_document),
        ALL,
        Diagnosis.IGNORED_ROWS,
    ),
)

_OF_GROUPS = (
    _missing(
        "first_head_of_the_group",
        "dk and dv hold what the first query head of each group adds.",
        mistakes.FIRST_HEAD,
        OF_KEYS,
        "the sum over the group",
    ),
    _missing(
        "last_head_of_the_group",
        "The query heads of a group overwrite each other's dk and dv.",
        mistakes.LAST_HEAD,
        OF_KEYS,
        "the sum over the group",
    ),
    _missing(
        "mean_over_the_group",
        "dk and dv are averaged over the group.",
        mistakes.MEAN_OF_GROUP,
        OF_KEYS,
        "the number of heads in the group",
    ),
    Mutant(
        "heads_in_turn",
        "Query head h takes key-value head h mod H.",
        _heads_in_turn,
        ALL,
        Diagnosis.MISSING_TERM,
        "h // G",
    ),
    _mutant(
        "group_in_bfloat16",
        "Adds the heads of a group up in bfloat16.",
        Steps(over_group=_group_in_bfloat16),
        OF_KEYS,
    ),
    _mutant(
        "group_races",
        "The heads of a group add to dk and dv without atomics, so that some of what they add is lost.",
        Steps(over_group=lambda x: lose_updates(x).sum(1)),
        OF_KEYS,
    ),
)

_OF_SUMS = (
    _mutant(
        "dq_in_bfloat16",
        "Adds up dq in bfloat16, one key after the other.",
        Steps(over_keys=_key_by_key_in_bfloat16),
        ("dq",),
    ),
    _mutant(
        "dq_races",
        "Tiles of keys add to dq without atomics, so that some of what they add is lost.",
        Steps(over_keys=_racing_tiles_of_keys),
        ("dq",),
    ),
    Mutant(
        "dk_and_dv_swapped",
        "dk and dv are returned in the wrong order.",
        _keys_and_values_swapped,
        OF_KEYS,
        Diagnosis.SWAPPED,
    ),
)


def _strides(argument: str, gradients: tuple[str, ...]) -> Mutant:
    return _make.argument(
        argument,
        f"{argument}_strides",
        f"{argument} is read from memory in order, whatever its strides are.",
        read_linearly,
        gradients,
        Diagnosis.STRIDES,
    )


MUTANTS = (
    *_make.common(),
    *_make.upstream(),
    *_OF_THE_SOFTMAX,
    *_OF_THE_SCALE,
    *_OF_THE_MASK,
    *_OF_DOCUMENTS,
    *_OF_GROUPS,
    *_OF_SUMS,
    _strides("q", ALL),
    _strides("k", ALL),
    _strides("v", OF_SCORES),
    _strides("out", OF_SCORES),
    _strides("lse", ALL),
)
