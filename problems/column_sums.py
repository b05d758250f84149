"""Mutants of a gradient that is summed over rows, as a parameter's is: a sum cut short or coarse."""

from __future__ import annotations

from collections.abc import Callable

import torch

from problems.mutants import BLOCK, Diagnosis, Mutant, Spoiler, racing_sum, running_sum

Terms = Callable[..., torch.Tensor]


def column_sum_mutants(make: Spoiler, gradient: str, terms: Terms) -> tuple[Mutant, ...]:
    """`terms(**arguments)` is (rows, ...) in float32; its sum over the rows is the honest `gradient`."""
    return (
        make.one(
            gradient,
            f"{gradient}_over_one_block",
            f"Sums {gradient} over the first {BLOCK} rows only.",
            lambda **given: terms(**given)[:BLOCK].sum(0),
            Diagnosis.ONE_BLOCK,
        ),
        make.one(
            gradient,
            f"{gradient}_is_a_mean",
            f"Averages {gradient} over the rows.",
            lambda **given: terms(**given).mean(0),
            Diagnosis.CONSTANT_FACTOR,
        ),
        make.one(
            gradient,
            f"{gradient}_in_bfloat16",
            f"Adds the rows of {gradient} up one by one in bfloat16.",
            lambda **given: running_sum(terms(**given), torch.bfloat16),
            Diagnosis.LOW_PRECISION,
        ),
        make.one(
            gradient,
            f"{gradient}_partials_in_bfloat16",
            f"Adds up blocks of {BLOCK} rows in float32 and rounds what each adds to bfloat16.",
            lambda **given: running_sum(terms(**given), torch.bfloat16, BLOCK),
            Diagnosis.LOW_PRECISION,
        ),
        make.one(
            gradient,
            f"{gradient}_race",
            f"Blocks of rows add to {gradient} without atomics, so that some of what they add is lost.",
            lambda **given: racing_sum(terms(**given)),
        ),
    )
