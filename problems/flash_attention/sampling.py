"""What stands in the queries, keys, values and upstream gradient, and where documents begin."""

from __future__ import annotations

from enum import StrEnum

import torch

from problems import distributions as draw
from problems.distributions import Values
from problems.spec import Dims, Tensors

SHARP = 6.0  # factor of the queries: scores of some ±6 to ±20, most probabilities vanish


class Packing(StrEnum):
    """The distributions that `sample` knows besides the common ones."""

    RAGGED = "ragged"  # lengths differ
    EMPTY_DOCUMENTS = "empty_documents"  # the first, the last and one between have no tokens
    PADDED = "padded"  # the last tokens belong to no document
    SHARP = "sharp"  # every query is sure of its key


def sample(dims: Dims, values: str, generator: torch.Generator) -> Tensors:
    """q, k, v and grad_output in float64, cu_seqlens in int32.

    LARGE and TINY are for v and grad_output: scores of 10⁸ would leave no bits for a difference.
    """
    tokens, H, G, D = dims["T"], dims["H"], dims["G"], dims["D"]
    packing = values if values in list(Packing) else ""
    common = Values.NORMAL if packing else Values(values)
    of_scores = Values.TIES if common is Values.TIES else Values.NORMAL
    q = draw.activation((tokens, H * G, D), of_scores, generator)
    return {
        "q": SHARP * q if packing == Packing.SHARP else q,
        "k": draw.activation((tokens, H, D), of_scores, generator),
        "v": draw.activation((tokens, H, D), common, generator),
        "grad_output": draw.upstream((tokens, H * G, D), common, generator),
        "cu_seqlens": _cu_seqlens(dims["S"], tokens, packing, generator),
    }


def integers(dims: Dims, generator: torch.Generator) -> Tensors:
    """The documents' boundaries alone, as in "normal"."""
    return {"cu_seqlens": _cu_seqlens(dims["S"], dims["T"], "", generator)}


def _cu_seqlens(
    documents: int, tokens: int, packing: str, generator: torch.Generator
) -> torch.Tensor:
    """Where each document begins, and where the last one ends; lengths are equal unless said."""
    equal = torch.arange(documents + 1) * tokens // documents
    match packing:
        case Packing.RAGGED:
            inner = torch.randint(tokens + 1, (documents - 1,), generator=generator)
            bounds = torch.cat((equal[:1], inner.sort().values, equal[-1:]))
        case Packing.EMPTY_DOCUMENTS:
            inner = 1 + torch.arange(documents - 3) * tokens // max(documents - 3, 1)
            bounds = torch.cat(
                (equal[:1], equal[:1], inner[1:], inner[-1:], equal[-1:], equal[-1:])
            )
        case Packing.PADDED:
            left = 1 + int(torch.randint(tokens // 3, (1,), generator=generator))
            bounds = torch.arange(documents + 1) * (tokens - left) // documents
        case _:
            bounds = equal
    return bounds.to(torch.int32)
