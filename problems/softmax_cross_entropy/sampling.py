"""What stands in the logits, targets and upstream gradient of softmax cross-entropy."""

from __future__ import annotations

from enum import StrEnum

import torch

from problems import distributions as draw
from problems.spec import Dims, Tensors

IGNORE_INDEX = -100
SPREAD = 3.0  # of normal logits: a few classes stand out, as in a model half trained
MARGIN = 12.0  # of a confident target's logit; p is then about 0.99 among a thousand classes
OFFSET_SPREAD = 128.0  # bfloat16's values around 10⁴ are 64 apart; less would round to one value


class LossValues(StrEnum):
    """The distributions that `sample` knows."""

    NORMAL = "normal"
    TIES = "ties"
    CONSTANT_ROWS = "constant_rows"
    CONFIDENT = "confident"
    LARGE_OFFSET = "large_offset"
    IGNORED_ROWS = "ignored_rows"
    FIRST_ROW_IGNORED = "first_row_ignored"
    ALL_IGNORED = "all_ignored"
    LAST_CLASS = "last_class"
    ZERO_UPSTREAM = "zero_upstream"
    LARGE_UPSTREAM = "large_upstream"
    TINY_UPSTREAM = "tiny_upstream"


def sample(dims: Dims, values: str, generator: torch.Generator) -> Tensors:
    """logits (M, V) and grad_output () in float64, target (M,) in int64."""
    chosen = LossValues(values)
    target = _target(dims, chosen, generator)
    return {
        "logits": _logits(dims, chosen, target, generator),
        "target": target,
        "grad_output": _grad_output(chosen, generator),
    }


def integers(dims: Dims, generator: torch.Generator) -> Tensors:
    """The targets alone, as in "normal"."""
    return {"target": _target(dims, LossValues.NORMAL, generator)}


def _target(dims: Dims, values: LossValues, generator: torch.Generator) -> torch.Tensor:
    M, V = dims["M"], dims["V"]
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
    return target


def _logits(
    dims: Dims, values: LossValues, target: torch.Tensor, generator: torch.Generator
) -> torch.Tensor:
    shape = (dims["M"], dims["V"])
    match values:
        case LossValues.TIES | LossValues.CONSTANT_ROWS:
            return SPREAD * draw.activation(shape, values, generator)
        case LossValues.CONFIDENT:
            logits = draw.normal(shape, generator)
            logits[torch.arange(dims["M"]), target] += MARGIN
            return logits
        case LossValues.LARGE_OFFSET:
            sign = 2 * torch.randint(2, (dims["M"], 1), generator=generator) - 1
            return draw.LARGE * sign + draw.normal(shape, generator, OFFSET_SPREAD)
        case _:
            return draw.normal(shape, generator, SPREAD)


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
