"""Which tokens stand in a batch, and what gradients reach them."""

from __future__ import annotations

from enum import StrEnum

import torch

from problems import distributions as draw
from problems.spec import Dims, Tensors

PADDING = 0  # the id whose row is never trained


class TokenValues(StrEnum):
    """The distributions that `sample` knows."""

    NORMAL = "normal"
    DISTINCT = "distinct"
    ONE_ID = "one_id"
    LAST_ID = "last_id"
    PADDED = "padded"
    ALL_PADDED = "all_padded"
    CANCELLING = "cancelling"
    ZERO_UPSTREAM = "zero_upstream"
    ONE_HOT_UPSTREAM = "one_hot_upstream"
    LARGE = "large"
    TINY = "tiny"


_OF_THE_UPSTREAM = {
    TokenValues.ZERO_UPSTREAM,
    TokenValues.ONE_HOT_UPSTREAM,
    TokenValues.LARGE,
    TokenValues.TINY,
}


def sample(dims: Dims, values: str, generator: torch.Generator) -> Tensors:
    """grad_output (M, N) and weight (V, N) in float64, ids (M,) in int64.

    All rows of the weight are alike, without memory for them: no gradient depends on them.
    """
    chosen = TokenValues(values)
    ids = _ids(dims["M"], dims["V"], chosen, generator)
    common = chosen.value if chosen in _OF_THE_UPSTREAM else draw.Values.NORMAL
    grad_output = draw.upstream((dims["M"], dims["N"]), common, generator)
    if chosen is TokenValues.CANCELLING:
        first_half = torch.arange(dims["M"]) < dims["M"] // 2
        grad_output += torch.where(first_half, 4.0, -4.0)[:, None]
    weight = draw.normal((1, dims["N"]), generator).expand(dims["V"], dims["N"])
    return {"weight": weight, "ids": ids, "grad_output": grad_output}


def integers(dims: Dims, generator: torch.Generator) -> Tensors:
    """The ids alone, as in "normal"."""
    return {"ids": _ids(dims["M"], dims["V"], TokenValues.NORMAL, generator)}


def _ids(M: int, V: int, values: TokenValues, generator: torch.Generator) -> torch.Tensor:
    match values:
        case TokenValues.DISTINCT:
            return torch.randperm(V, generator=generator)[torch.arange(M) % V]
        case TokenValues.ONE_ID | TokenValues.CANCELLING:
            one = torch.randint(min(1, V - 1), V, (1,), generator=generator)
            return one.expand(M).contiguous()
        case TokenValues.LAST_ID:
            return torch.full((M,), V - 1)
        case TokenValues.ALL_PADDED:
            return torch.full((M,), PADDING)
        case TokenValues.PADDED:
            ids = _text(M, V, generator)
            return torch.where(torch.rand(M, generator=generator) < 0.4, PADDING, ids)
        case _:
            return _text(M, V, generator)


def _text(M: int, V: int, generator: torch.Generator) -> torch.Tensor:
    """Ids as words occur, by Zipf's law: the k-th most frequent with probability near 1 / k.

    The k-th most frequent has id k, as a tokenizer built by merging frequent pairs numbers them, so
    padding does not occur unless there is no other id.
    """
    rank = torch.pow(float(V), torch.rand(M, generator=generator, dtype=torch.float64))
    return rank.long().clamp(max=V - 1)
