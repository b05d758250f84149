"""Ways of computing SSD's backward that a judge must accept: other chunks, another order of the sums."""

from __future__ import annotations

from collections.abc import Callable

import torch

from problems.spec import Gradients
from problems.ssd.formulas import (
    Crossings,
    Steps,
    backwards,
    in_low_precision,
    rounded_to_bfloat16,
)

T = torch.Tensor


def _ends_less_beginnings(c: Crossings) -> T:
    """What ends at a step less what begins there, added up backwards: within a chunk little is lost."""
    pairs = c.pairs.tril(-1)
    ends = pairs.sum(-1) + c.arriving - pairs.sum(-2) - c.leaving
    return backwards(ends) + (c.leaving.sum(-1) + c.through)[..., None]


def _with(steps: Steps) -> Callable[..., Gradients]:
    return lambda **given: in_low_precision(steps, given)


HONEST = {
    "chunks of 16": _with(Steps(chunk=16, rounded=rounded_to_bfloat16)),
    "chunks of 256": _with(Steps(chunk=256, rounded=rounded_to_bfloat16)),
    "ends less beginnings": _with(
        Steps(log_decay=_ends_less_beginnings, rounded=rounded_to_bfloat16)
    ),
}
