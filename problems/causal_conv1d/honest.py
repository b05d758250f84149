"""Ways of computing the convolution's backward that a judge must accept: other orders of the sums."""

from __future__ import annotations

from collections.abc import Callable

import torch

from problems.causal_conv1d.formulas import convolved, dx_of, past, silu_derivative
from problems.spec import Gradients

T = torch.Tensor
_BLOCK = 32


def _summed(order: Callable[[int], T], block: int) -> Callable[..., Gradients]:
    """The sums over all steps of all sequences, `block` steps at a time in the order given."""

    def backward(grad_output: T, x: T, weight: T, bias: T) -> Gradients:
        (B, steps, D), width = x.shape, weight.shape[1]
        g = grad_output.float() * silu_derivative(
            convolved(x.float(), weight.float(), bias.float())
        )
        padded = past(x.float(), width)
        terms = [g] + [g * padded[:, k : k + steps] for k in range(width)]
        flat = torch.stack(terms).reshape(width + 1, B * steps, D)[:, order(B * steps)]
        total = torch.zeros((width + 1, D))
        for part in torch.split(flat, block, dim=1):
            total += part.sum(dim=1)
        dx = dx_of(g, weight.float()).bfloat16()
        return dx, total[1:].t().contiguous(), total[0]

    return backward


HONEST = {
    "sums in blocks": _summed(torch.arange, _BLOCK),
    "sums one by one": _summed(torch.arange, 1),
    "atomic sums in random order": _summed(torch.randperm, 1),
}
