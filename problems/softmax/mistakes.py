"""Softmax's backward with a part of the derivation missing, to be recognised in submissions."""

from __future__ import annotations

import torch

from problems.spec import Gradients, Mistake


def _without_row_sum(grad_output: torch.Tensor, y: torch.Tensor) -> Gradients:
    return (grad_output * y,)


def _diagonal_only(grad_output: torch.Tensor, y: torch.Tensor) -> Gradients:
    return (grad_output * y * (1 - y),)


def _sum_of_the_upstream(grad_output: torch.Tensor, y: torch.Tensor) -> Gradients:
    return (y * (grad_output - grad_output.sum(dim=1, keepdim=True)),)


def _mean_for_sum(grad_output: torch.Tensor, y: torch.Tensor) -> Gradients:
    return (y * (grad_output - (grad_output * y).mean(dim=1, keepdim=True)),)


def _without_outer_y(grad_output: torch.Tensor, y: torch.Tensor) -> Gradients:
    return (grad_output - (grad_output * y).sum(dim=1, keepdim=True),)


def _row_sum_without_y(grad_output: torch.Tensor, y: torch.Tensor) -> Gradients:
    return (y * grad_output - (grad_output * y).sum(dim=1, keepdim=True),)


def _of_log_softmax(grad_output: torch.Tensor, y: torch.Tensor) -> Gradients:
    return (grad_output - y * grad_output.sum(dim=1, keepdim=True),)


MISTAKES = (
    Mistake("lacks the row's sum: − y · sum(dy · y)", _without_row_sum),
    Mistake(
        "keeps the Jacobian's diagonal only, as if softmax were element by element", _diagonal_only
    ),
    Mistake("sums dy over the row where dy · y belongs", _sum_of_the_upstream),
    Mistake("takes the mean of dy · y over the row where the sum belongs", _mean_for_sum),
    Mistake("is not multiplied by y", _without_outer_y),
    Mistake("does not multiply the row's sum by y", _row_sum_without_y),
    Mistake("is the gradient of log-softmax", _of_log_softmax),
)
