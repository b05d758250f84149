"""The combine's mutants: rows mixed up, dropped or not written, scores misplaced, sums cut or coarse."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from problems.moe_combine import mistakes
from problems.moe_combine.formulas import gathered, scattered
from problems.moe_combine.problem import PROBLEM
from problems.mutants import (
    BLOCK,
    Backward,
    Diagnosis,
    Mutant,
    Spoiler,
    full_blocks,
    read_linearly,
    running_sum,
)
from problems.spec import Gradients

T = torch.Tensor

ALL = ("dexpert_out", "dscores")
_make = Spoiler(PROBLEM)


def _dz_terms(grad_output: T, scores: T) -> T:
    return scores[..., None] * grad_output.float()[:, None]


def _products(grad_output: T, expert_out: T, rows: T) -> T:
    """The terms of dscores, (T, K, D)."""
    return grad_output.float()[:, None] * gathered(expert_out.float(), rows)


def _unwritten(grad_output: T, expert_out: T, scores: T, rows: T) -> T:
    """Rows that no choice refers to keep what memory held."""
    dz = torch.full(expert_out.shape, torch.nan)
    kept = rows >= 0
    dz[rows[kept]] = _dz_terms(grad_output, scores)[kept]
    return dz


def _padding_gets_the_first_token(grad_output: T, expert_out: T, scores: T, rows: T) -> T:
    """Rows that no choice refers to are given token 0, as an inverse index of zeros does."""
    dz = (scores[0, 0] * grad_output[:1].float()).expand(expert_out.shape).clone()
    kept = rows >= 0
    dz[rows[kept]] = _dz_terms(grad_output, scores)[kept]
    return dz


def _dropped_go_to_the_last_row(grad_output: T, expert_out: T, scores: T, rows: T) -> T:
    dz = scattered(_dz_terms(grad_output, scores), rows, len(expert_out))
    dropped = (rows < 0).nonzero()
    if len(dropped):
        token, choice = dropped[-1].tolist()
        dz[-1] = scores[token, choice] * grad_output[token].float()
    return dz


def _dropped_not_masked(grad_output: T, expert_out: T, scores: T, rows: T) -> T:
    """An index of -1 reads the last row, so dropped choices get its dot product."""
    return (grad_output.float()[:, None] * expert_out.float()[rows]).sum(-1)


def _first_choice_only(grad_output: T, expert_out: T, scores: T, rows: T) -> T:
    first = torch.where(torch.arange(rows.shape[1]) == 0, rows, -1)
    return scattered(_dz_terms(grad_output, scores), first, len(expert_out))


def _rows_doubled_up(grad_output: T, expert_out: T, scores: T, rows: T) -> T:
    """The row of the choice after: rows read with an offset of one."""
    return scattered(_dz_terms(grad_output, scores), rows.roll(1, dims=1), len(expert_out))


def _dscores_over(part: Callable[[T], T]) -> Callable[..., T]:
    def wrong(grad_output: T, expert_out: T, scores: T, rows: T) -> T:
        return part(_products(grad_output, expert_out, rows)).sum(-1)

    return wrong


def _dscores_in_bfloat16(grad_output: T, expert_out: T, scores: T, rows: T) -> T:
    terms = _products(grad_output, expert_out, rows)
    return running_sum(terms.movedim(-1, 0), torch.bfloat16)


def _whole(
    name: str,
    what: str,
    mistake: Backward,
    term: str,
    gradients: Sequence[str] = ALL,
) -> Mutant:
    def backward(**arguments: T) -> Gradients:
        single = {n: t.float() if t.is_floating_point() else t for n, t in arguments.items()}
        dz, dscores = mistake(**single)
        return dz.bfloat16(), dscores.contiguous()

    return Mutant(name, what, backward, tuple(gradients), Diagnosis.MISSING_TERM, term)


_OF_ROWS = (
    _whole(
        "rows_ignored",
        "Takes the experts' output to lie in the tokens' order.",
        mistakes.tokens_in_order,
        "the permutation",
    ),
    _make.one(
        "dexpert_out",
        "padding_unwritten",
        "Rows that no choice refers to keep what memory held.",
        _unwritten,
        Diagnosis.IGNORED_ROWS,
    ),
    _make.one(
        "dexpert_out",
        "padding_gets_a_token",
        "Rows that no choice refers to get the gradient of token 0.",
        _padding_gets_the_first_token,
        Diagnosis.IGNORED_ROWS,
    ),
    _make.one(
        "dexpert_out",
        "dropped_written_to_the_last_row",
        "Uses -1 as an index: the last row gets what belongs to nobody.",
        _dropped_go_to_the_last_row,
        Diagnosis.LAST_BLOCK,
    ),
    _make.one(
        "dscores",
        "dropped_read_from_the_last_row",
        "Uses -1 as an index: dropped choices get the last row's dot product.",
        _dropped_not_masked,
        Diagnosis.MISSING_TERM,
        "the mask of dropped choices",
    ),
    _make.one(
        "dexpert_out",
        "first_choice_only",
        "Writes the row of each token's first choice and forgets the others.",
        _first_choice_only,
        Diagnosis.ONE_BLOCK,
    ),
    _make.one(
        "dexpert_out",
        "choices_off_by_one",
        "Writes each choice's gradient to the row of the one after.",
        _rows_doubled_up,
    ),
)

_OF_SCORES = (
    _whole(
        "scores_misplaced",
        "Multiplies dscores by the scores, not dexpert_out.",
        mistakes.without_scores,
        "scores",
    ),
    _whole(
        "score_of_the_first_choice",
        "Weighs all choices of a token by the score of its first.",
        mistakes.first_score,
        "the choice's own score",
        ("dexpert_out",),
    ),
    _whole(
        "dscores_summed_over_choices",
        "Gives every choice of a token the sum over all of them.",
        mistakes.summed_over_choices,
        "the choice's own row",
        ("dscores",),
    ),
    _whole(
        "dscores_averaged",
        "Takes the mean over the columns.",
        mistakes.averaged_over_columns,
        "the number of columns",
        ("dscores",),
    ),
)

_OF_SUMS = (
    _make.one(
        "dscores",
        "dscores_of_one_block",
        f"Sums dscores over the first {BLOCK} columns only.",
        _dscores_over(lambda terms: terms[..., :BLOCK]),
        Diagnosis.ONE_BLOCK,
    ),
    _make.one(
        "dscores",
        "dscores_without_the_last_block",
        f"Sums dscores over whole blocks of {BLOCK} columns and forgets those left over.",
        _dscores_over(lambda terms: terms[..., : full_blocks(terms, -1)]),
        Diagnosis.ONE_BLOCK,
    ),
    _make.one(
        "dscores",
        "dscores_in_bfloat16",
        "Adds the products up one by one in bfloat16.",
        _dscores_in_bfloat16,
        Diagnosis.LOW_PRECISION,
    ),
    _make.one(
        "dscores",
        "dscores_of_rounded_products",
        "Rounds every product to bfloat16 before it is added.",
        _dscores_over(lambda terms: terms.bfloat16().float()),
        Diagnosis.LOW_PRECISION,
    ),
)

_OF_MEMORY = (
    _make.argument(
        "expert_out",
        "expert_out_strides",
        "expert_out is read from memory in order, whatever its strides are.",
        read_linearly,
        ("dscores",),
        Diagnosis.STRIDES,
    ),
    _make.argument(
        "scores",
        "scores_strides",
        "The scores are read from memory in order, whatever their strides are.",
        read_linearly,
        ("dexpert_out",),
        Diagnosis.STRIDES,
    ),
)

MUTANTS = (
    *_make.common(["dexpert_out"]),
    *_make.upstream(),
    *_OF_ROWS,
    *_OF_SCORES,
    *_OF_SUMS,
    *_OF_MEMORY,
)
