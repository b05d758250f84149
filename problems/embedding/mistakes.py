"""The embedding's backward with a part of the derivation missing, to be recognised in submissions."""

from __future__ import annotations

import torch

from problems.embedding.sampling import PADDING
from problems.spec import Gradients, Mistake


def _added(grad_output: torch.Tensor, ids: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Every token's row added to the row of its id, padding too."""
    return torch.zeros_like(weight).index_add_(0, ids, grad_output)


def _one_token_each(
    grad_output: torch.Tensor, ids: torch.Tensor, weight: torch.Tensor, *, last: bool
) -> torch.Tensor:
    """In the row of each id what one of its tokens brings, the first or the last."""
    tokens = torch.arange(len(ids))
    empty, reduce = (-1, "amax") if last else (len(ids), "amin")
    place = torch.full((len(weight),), empty).scatter_reduce(0, ids, tokens, reduce)
    place = torch.where(place < len(ids), place, -1)
    rows = torch.where((place >= 0)[:, None], grad_output[place.clamp(min=0)], 0.0)
    rows[PADDING] = 0
    return rows


def _overwritten(grad_output: torch.Tensor, ids: torch.Tensor, weight: torch.Tensor) -> Gradients:
    return (_one_token_each(grad_output, ids, weight, last=True),)


def _first_only(grad_output: torch.Tensor, ids: torch.Tensor, weight: torch.Tensor) -> Gradients:
    return (_one_token_each(grad_output, ids, weight, last=False),)


def _with_padding(grad_output: torch.Tensor, ids: torch.Tensor, weight: torch.Tensor) -> Gradients:
    return (_added(grad_output, ids, weight),)


def _averaged(grad_output: torch.Tensor, ids: torch.Tensor, weight: torch.Tensor) -> Gradients:
    count = torch.bincount(ids, minlength=len(weight)).clamp(min=1)
    mean = _added(grad_output, ids, weight) / count[:, None]
    mean[PADDING] = 0
    return (mean,)


# Of the first and of the last one, which cannot be told apart where all tokens bring the same.
_ONE_OF_EACH = "holds one token of each id, not their sum: do equal ids overwrite each other?"

MISTAKES = (
    Mistake(_ONE_OF_EACH, _overwritten),
    Mistake(_ONE_OF_EACH, _first_only),
    Mistake("has a gradient in row 0, which is padding and not trained", _with_padding),
    Mistake("averages over the tokens of an id; the gradient is their sum", _averaged),
)
