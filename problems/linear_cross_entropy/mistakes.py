"""The fused loss's backward with a part of the derivation missing, to be recognised in submissions."""

from __future__ import annotations

import math

import torch

from problems.linear_cross_entropy.formulas import Steps, difference, kept_rows, one_hot
from problems.spec import Mistake

T = torch.Tensor


def only_one_hot(p: T, target: T) -> T:
    return -one_hot(target, p.shape[1], p.dtype)


def only_softmax(p: T, target: T) -> T:
    return torch.where(kept_rows(target)[:, None], p, 0)


def ignored_rows_kept(p: T, target: T) -> T:
    return p - one_hot(target, p.shape[1], p.dtype)


def next_class(p: T, target: T) -> T:
    following = torch.where(kept_rows(target), (target + 1).clamp(max=p.shape[1] - 1), target)
    return difference(p, following)


NO_SOFTMAX = Steps(difference=only_one_hot)
NO_ONE_HOT = Steps(difference=only_softmax)
IGNORED_ROWS_KEPT = Steps(difference=ignored_rows_kept)
NEXT_CLASS = Steps(difference=next_class)
SUM_FOR_MEAN = Steps(scale=lambda grad_output, target: grad_output)
MEAN_OF_ALL = Steps(scale=lambda grad_output, target: grad_output / len(target))
BASE_TWO = Steps(probabilities=lambda z, lse: torch.exp(z - math.log(2) * lse[:, None]))

MISTAKES = (
    Mistake("lacks the softmax: only the one-hot is there", NO_SOFTMAX.backward),
    Mistake("lacks the one-hot of the target", NO_ONE_HOT.backward),
    Mistake("counts ignored rows: their softmax is left in", IGNORED_ROWS_KEPT.backward),
    Mistake("subtracts the one-hot one class too far", NEXT_CLASS.backward),
    Mistake("is that of the sum of the losses: is the mean's 1/N missing?", SUM_FOR_MEAN.backward),
    Mistake("is divided by all rows, ignored ones included", MEAN_OF_ALL.backward),
    Mistake("takes lse for a logarithm to base 2", BASE_TWO.backward),
)
