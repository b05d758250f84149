"""Ways of computing the combine's backward that a judge must accept: row by row, other orders."""

from __future__ import annotations

from collections.abc import Callable

import torch

from problems.moe_combine.formulas import gathered, scattered
from problems.spec import Gradients

T = torch.Tensor


def _by_rows(grad_output: T, expert_out: T, scores: T, rows: T) -> Gradients:
    """Each row looks its token and score up in an inverse index and writes both gradients."""
    choice = torch.full((len(expert_out),), -1)
    kept = rows.reshape(-1) >= 0
    choice[rows.reshape(-1)[kept]] = torch.arange(rows.numel())[kept]
    used = choice >= 0
    dy = grad_output[choice.clamp(min=0) // rows.shape[1]].float()
    weight = torch.where(used, scores.reshape(-1)[choice.clamp(min=0)], 0.0)
    dscores = torch.zeros(rows.numel())
    dscores[choice[used]] = (dy[used] * expert_out[used].float()).sum(1)
    return (weight[:, None] * dy).bfloat16(), dscores.reshape(rows.shape)


def _summed(order: Callable[[int], T]) -> Callable[..., Gradients]:
    """dscores column by column, in the order given."""

    def backward(grad_output: T, expert_out: T, scores: T, rows: T) -> Gradients:
        dy, z = grad_output.float(), gathered(expert_out.float(), rows)
        total = torch.zeros(rows.shape)
        for column in order(dy.shape[1]).tolist():
            total += dy[:, None, column] * z[..., column]
        dz = scattered(scores[..., None] * dy[:, None], rows, len(expert_out))
        return dz.bfloat16(), total

    return backward


HONEST = {
    "row by row": _by_rows,
    "sums one by one": _summed(torch.arange),
    "atomic sums in random order": _summed(torch.randperm),
}
