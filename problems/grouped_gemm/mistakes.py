"""The grouped product's backward with a part of it wrong, to be recognised in submissions."""

from __future__ import annotations

import torch

from problems.grouped_gemm.formulas import dweight_of, dx_of, groups
from problems.matrix_products import as_its_transpose
from problems.spec import Gradients, Mistake

T = torch.Tensor


def one_group_off(grad_output: T, x: T, weight: T, offsets: T) -> Gradients:
    """Every expert works on the rows of the one before; the first has none."""
    late = torch.cat((offsets[:1], offsets[:-1]))
    return dx_of(grad_output, weight, late), dweight_of(grad_output, x, late)


def all_to_the_first(grad_output: T, x: T, weight: T, offsets: T) -> Gradients:
    ends = torch.full_like(offsets, int(offsets[-1]))
    ends[0] = 0
    return dx_of(grad_output, weight, ends), dweight_of(grad_output, x, ends)


def equal_shares(grad_output: T, x: T, weight: T, offsets: T) -> Gradients:
    """As if the router were balanced and nothing padded."""
    experts = len(offsets) - 1
    ends = torch.arange(experts + 1) * len(x) // experts
    return dx_of(grad_output, weight, ends), dweight_of(grad_output, x, ends)


def padding_to_the_last(grad_output: T, x: T, weight: T, offsets: T) -> Gradients:
    ends = torch.cat((offsets[:-1], torch.full_like(offsets[:1], len(x))))
    return dx_of(grad_output, weight, ends), dweight_of(grad_output, x, ends)


def weight_transposed(grad_output: T, x: T, weight: T, offsets: T) -> Gradients:
    """Each expert's weight read as (N, K), and its gradient stored so."""
    turned = torch.stack([as_its_transpose(w) for w in weight])
    dweight = dweight_of(grad_output, x, offsets)
    return dx_of(grad_output, turned, offsets), dweight.mT.reshape(dweight.shape)


def averaged(grad_output: T, x: T, weight: T, offsets: T) -> Gradients:
    """dweight divided by each expert's number of rows."""
    counts = torch.tensor([max(len(x[rows]), 1) for rows in groups(offsets)])
    dweight = dweight_of(grad_output, x, offsets) / counts[:, None, None]
    return dx_of(grad_output, weight, offsets), dweight


MISTAKES = (
    Mistake(
        "gives every expert the rows of the one before it: is offsets read one late?", one_group_off
    ),
    Mistake("gives all rows to the first expert: is offsets used?", all_to_the_first),
    Mistake(
        "counts the rows after the last expert as its own: it ends at offsets[E]",
        padding_to_the_last,
    ),
    Mistake("gives every expert an equal share of the rows: is offsets used?", equal_shares),
    Mistake("takes or stores each expert's weight as (N, K) where it is (K, N)", weight_transposed),
    Mistake("takes the mean over an expert's rows where it should take the sum", averaged),
)
