"""Which row of the experts' output belongs to which choice of which token."""

from __future__ import annotations

from enum import StrEnum

import torch

from problems import distributions as draw
from problems.spec import Dims, Tensors

DROPPED = -1  # the row of a choice whose expert had no room
DROP_SHARE = 0.35
JUNK = 1e30  # in rows that no token refers to: what fresh memory may hold


class RoutingValues(StrEnum):
    """The distributions that `sample` knows."""

    NORMAL = "normal"
    DROPPED = "dropped"
    ALL_DROPPED = "all_dropped"
    IN_ORDER = "in_order"
    CONFIDENT = "confident"
    JUNK = "junk"
    ZERO_UPSTREAM = "zero_upstream"
    ONE_HOT_UPSTREAM = "one_hot_upstream"
    LARGE = "large"
    TINY = "tiny"


_COMMON = {
    RoutingValues.ZERO_UPSTREAM,
    RoutingValues.ONE_HOT_UPSTREAM,
    RoutingValues.LARGE,
    RoutingValues.TINY,
}


def sample(dims: Dims, values: str, generator: torch.Generator) -> Tensors:
    """expert_out (R, D), scores (T, K) and grad_output (T, D) in float64, rows (T, K) in int64.

    No two choices share a row. Of R rows, T · K are taken where there are as many; where there are
    fewer, some choices are dropped, and where there are more, some rows are padding.
    """
    chosen = RoutingValues(values)
    common = chosen.value if chosen in _COMMON else draw.Values.NORMAL
    T, K, R, D = (dims[name] for name in "TKRD")
    rows = _rows(T, K, R, chosen, generator)
    expert_out = draw.activation((R, D), common, generator)
    if chosen is RoutingValues.JUNK:
        padding = torch.ones(R, dtype=torch.bool)
        padding[rows[rows >= 0]] = False
        expert_out[padding] = JUNK
    spread = 6.0 if chosen is RoutingValues.CONFIDENT else 1.0
    return {
        "expert_out": expert_out,
        "scores": draw.normal((T, K), generator, spread).softmax(dim=1) * 0.9,
        "rows": rows,
        "grad_output": draw.upstream((T, D), common, generator),
    }


def integers(dims: Dims, generator: torch.Generator) -> Tensors:
    """The rows alone, as in "normal"."""
    T, K, R = (dims[name] for name in "TKR")
    return {"rows": _rows(T, K, R, RoutingValues.NORMAL, generator)}


def _rows(
    T: int, K: int, R: int, values: RoutingValues, generator: torch.Generator
) -> torch.Tensor:
    choices = T * K
    kept = min(choices, R)
    rows = torch.full((choices,), DROPPED)
    if values is RoutingValues.IN_ORDER:
        rows[:kept] = torch.arange(kept)
    else:
        chosen = torch.randperm(choices, generator=generator)[:kept]
        rows[chosen] = torch.randperm(R, generator=generator)[:kept]
    if values is RoutingValues.ALL_DROPPED:
        rows.fill_(DROPPED)
    if values is RoutingValues.DROPPED:
        rows[torch.rand(choices, generator=generator) < DROP_SHARE] = DROPPED
    return rows.reshape(T, K)
