"""The two products of every expert, over the rows that `offsets` gives it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import torch

T = torch.Tensor
Product = Callable[[T, T], T]


def groups(offsets: T) -> Iterator[slice]:
    """The rows of each expert, in order."""
    for begin, end in pairwise(offsets.tolist()):
        yield slice(begin, end)


def dx_of(grad_output: T, weight: T, offsets: T, product: Product = torch.matmul) -> T:
    """(M, K): each expert's rows by its weight transposed; zeros in rows that belong to none."""
    dx = torch.zeros(
        (len(grad_output), weight.shape[1]), dtype=grad_output.dtype, device=weight.device
    )
    for rows, of_expert in zip(groups(offsets), weight, strict=False):
        dx[rows] = product(grad_output[rows], of_expert.t())
    return dx


def dweight_of(grad_output: T, x: T, offsets: T, product: Product = torch.matmul) -> T:
    """(E, K, N): the products of each expert's rows; zeros where it has none."""
    return torch.stack([product(x[rows].t(), grad_output[rows]) for rows in groups(offsets)])
