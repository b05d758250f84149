"""Cross-entropy's backward with a part of the derivation missing, to be recognised in submissions."""

from __future__ import annotations

import torch

from problems.softmax_cross_entropy.sampling import IGNORE_INDEX
from problems.spec import Gradients, Mistake


def _scale(grad_output: torch.Tensor, target: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    kept = target != IGNORE_INDEX
    return torch.where(kept, grad_output / rows.clamp(min=1), 0.0)[:, None]


def _one_hot(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    hot = torch.zeros_like(logits)
    hot[torch.arange(len(target)), target.clamp(min=0)] = 1
    return hot


def _without_softmax(
    grad_output: torch.Tensor, logits: torch.Tensor, target: torch.Tensor, lse: torch.Tensor
) -> Gradients:
    kept = (target != IGNORE_INDEX).sum()
    return (-_one_hot(logits, target) * _scale(grad_output, target, kept),)


def _without_one_hot(
    grad_output: torch.Tensor, logits: torch.Tensor, target: torch.Tensor, lse: torch.Tensor
) -> Gradients:
    kept = (target != IGNORE_INDEX).sum()
    return (torch.exp(logits - lse[:, None]) * _scale(grad_output, target, kept),)


def _mean_over_all_rows(
    grad_output: torch.Tensor, logits: torch.Tensor, target: torch.Tensor, lse: torch.Tensor
) -> Gradients:
    rows = torch.tensor(len(target))
    probability = torch.exp(logits - lse[:, None])
    return ((probability - _one_hot(logits, target)) * _scale(grad_output, target, rows),)


def _sum_over_rows(
    grad_output: torch.Tensor, logits: torch.Tensor, target: torch.Tensor, lse: torch.Tensor
) -> Gradients:
    probability = torch.exp(logits - lse[:, None])
    one = torch.tensor(1)
    return ((probability - _one_hot(logits, target)) * _scale(grad_output, target, one),)


MISTAKES = (
    Mistake("holds the one-hot only: the softmax of the logits is missing", _without_softmax),
    Mistake("lacks the − 1 at each target", _without_one_hot),
    Mistake("is not divided by the number of rows: is the mean's 1/M missing?", _sum_over_rows),
    Mistake("is divided by all rows, not by those whose target is not −100", _mean_over_all_rows),
)
