"""What stands in the hidden states, weight, targets and upstream gradient of the fused loss."""

from __future__ import annotations

from enum import StrEnum

import torch

from problems import distributions as draw
from problems.spec import Dims, Tensors

IGNORE_INDEX = -100
SPREAD = 3.0  # of normal logits: a few classes stand out, as in a model half trained
MARGIN = 12.0  # of a confident target's logit
OFFSET = 1024.0  # of all logits of a row, up or down
FREQUENT = 0.75  # of the targets that are the same class


class LossValues(StrEnum):
    """The distributions that `sample` knows."""

    NORMAL = "normal"
    CONFIDENT = "confident"
    LARGE_OFFSET = "large_offset"
    FREQUENT_CLASS = "frequent_class"
    IGNORED_ROWS = "ignored_rows"
    FIRST_ROW_IGNORED = "first_row_ignored"
    ALL_IGNORED = "all_ignored"
    LAST_CLASS = "last_class"
    ZERO_UPSTREAM = "zero_upstream"
    LARGE_UPSTREAM = "large_upstream"
    TINY_UPSTREAM = "tiny_upstream"


def sample(dims: Dims, values: str, generator: torch.Generator) -> Tensors:
    """hidden (M, K), weight (V, K) and grad_output () in float64, target (M,) in int64."""
    chosen = LossValues(values)
    M, V, K = dims["M"], dims["V"], dims["K"]
    target = _target(M, V, chosen, generator)
    hidden = draw.normal((M, K), generator)
    weight = draw.normal((V, K), generator, SPREAD * K**-0.5)
    match chosen:
        case LossValues.CONFIDENT:
            of_target = weight[target]
            hidden += MARGIN * of_target / of_target.square().sum(1, keepdim=True)
        case LossValues.LARGE_OFFSET:
            # One feature that every class weighs alike: powers of two, exact in any precision.
            sign = 2 * torch.randint(2, (M,), generator=generator) - 1
            hidden[:, 0], weight[:, 0] = sign * OFFSET / 4, 4.0
        case LossValues.FREQUENT_CLASS:
            hidden += 2.0  # what the row of dweight adds up does not cancel
    return {
        "hidden": hidden,
        "weight": weight,
        "target": target,
        "grad_output": _grad_output(chosen, generator),
    }


def integers(dims: Dims, generator: torch.Generator) -> Tensors:
    """The targets alone, as in "normal"."""
    return {"target": _target(dims["M"], dims["V"], LossValues.NORMAL, generator)}


def _target(M: int, V: int, values: LossValues, generator: torch.Generator) -> torch.Tensor:
    target = torch.randint(V, (M,), generator=generator)
    match values:
        case LossValues.IGNORED_ROWS:
            # At least one row is ignored and at least one is kept, when there are two.
            order = torch.randperm(M, generator=generator)
            ignored = int(torch.randint(1, max(M, 2), (1,), generator=generator))
            target[order[:ignored]] = IGNORE_INDEX
        case LossValues.FIRST_ROW_IGNORED:
            target[0] = IGNORE_INDEX
        case LossValues.ALL_IGNORED:
            target.fill_(IGNORE_INDEX)
        case LossValues.LAST_CLASS:
            target.fill_(V - 1)
        case LossValues.FREQUENT_CLASS:
            target[torch.rand(M, generator=generator) < FREQUENT] = V // 2
    return target


def _grad_output(values: LossValues, generator: torch.Generator) -> torch.Tensor:
    match values:
        case LossValues.ZERO_UPSTREAM:
            return torch.zeros((), dtype=torch.float64)
        case LossValues.LARGE_UPSTREAM:
            return draw.normal((), generator, draw.LARGE)
        case LossValues.TINY_UPSTREAM:
            return draw.normal((), generator, draw.TINY_UPSTREAM)
        case _:
            return draw.normal((), generator)
