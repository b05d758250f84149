"""Ways of computing the embedding's backward that a judge must accept: other orders of the sums."""

from __future__ import annotations

import torch

from problems.embedding.sampling import PADDING
from problems.spec import Gradients


def _added_in(
    order: torch.Tensor, grad_output: torch.Tensor, ids: torch.Tensor, V: int
) -> Gradients:
    dweight = torch.zeros((V, grad_output.shape[1]))
    dweight.index_add_(0, ids[order], grad_output[order].float())
    dweight[PADDING] = 0
    return (dweight,)


def _atomics(grad_output: torch.Tensor, ids: torch.Tensor, weight: torch.Tensor) -> Gradients:
    return _added_in(torch.randperm(len(ids)), grad_output, ids, len(weight))


def _backwards(grad_output: torch.Tensor, ids: torch.Tensor, weight: torch.Tensor) -> Gradients:
    return _added_in(torch.arange(len(ids)).flip(0), grad_output, ids, len(weight))


def _one_hot_product(
    grad_output: torch.Tensor, ids: torch.Tensor, weight: torch.Tensor
) -> Gradients:
    one_hot = torch.nn.functional.one_hot(ids, len(weight)).float()
    one_hot[:, PADDING] = 0
    return (one_hot.t() @ grad_output.float(),)


HONEST = {
    "atomic sums in random order": _atomics,
    "sums from the last token to the first": _backwards,
    "product with the one-hot matrix": _one_hot_product,
}
