"""The combine's backward with a part of the derivation wrong, to be recognised in submissions."""

from __future__ import annotations

import torch

from problems.moe_combine.formulas import gathered, scattered
from problems.spec import Gradients, Mistake

T = torch.Tensor


def _dz(weights: T, grad_output: T, expert_out: T, rows: T) -> T:
    return scattered(weights[..., None] * grad_output[:, None], rows, len(expert_out))


def _dscores(grad_output: T, expert_out: T, rows: T) -> T:
    return (grad_output[:, None] * gathered(expert_out, rows)).sum(-1)


def without_scores(grad_output: T, expert_out: T, scores: T, rows: T) -> Gradients:
    """dz without the score; dscores with one too many."""
    dz = _dz(torch.ones_like(scores), grad_output, expert_out, rows)
    return dz, scores * _dscores(grad_output, expert_out, rows)


def first_score(grad_output: T, expert_out: T, scores: T, rows: T) -> Gradients:
    """Every choice weighted as the first one."""
    first = scores[:, :1].expand_as(scores)
    return _dz(first, grad_output, expert_out, rows), _dscores(grad_output, expert_out, rows)


def tokens_in_order(grad_output: T, expert_out: T, scores: T, rows: T) -> Gradients:
    """Rows taken for the choices in order, as if nothing had been permuted."""
    choices = torch.arange(rows.numel()).reshape(rows.shape)
    straight = torch.where(choices < len(expert_out), choices, -1)
    dz = _dz(scores, grad_output, expert_out, straight)
    return dz, _dscores(grad_output, expert_out, straight)


def summed_over_choices(grad_output: T, expert_out: T, scores: T, rows: T) -> Gradients:
    dscores = _dscores(grad_output, expert_out, rows).sum(1, keepdim=True).expand_as(scores)
    return _dz(scores, grad_output, expert_out, rows), dscores.contiguous()


def averaged_over_columns(grad_output: T, expert_out: T, scores: T, rows: T) -> Gradients:
    dscores = _dscores(grad_output, expert_out, rows) / grad_output.shape[1]
    return _dz(scores, grad_output, expert_out, rows), dscores


def last_row_for_dropped(grad_output: T, expert_out: T, scores: T, rows: T) -> Gradients:
    """An index of -1 reads the last row."""
    wrapped = torch.where(rows < 0, len(expert_out) - 1, rows)
    dz = _dz(scores, grad_output, expert_out, rows)
    return dz, _dscores(grad_output, expert_out, wrapped)


MISTAKES = (
    Mistake("has the score in the wrong gradient: it belongs in dexpert_out alone", without_scores),
    Mistake("weighs every choice of a token by the score of its first", first_score),
    Mistake("ignores rows: takes the experts' output to lie in the tokens' order", tokens_in_order),
    Mistake("adds up all choices of a token; each has a gradient of its own", summed_over_choices),
    Mistake("takes the mean over the columns where it should take the sum", averaged_over_columns),
    Mistake(
        "gives dropped choices the last row's product: -1 is not an index", last_row_for_dropped
    ),
)
