"""The gradient of the logits and what follows from it, in steps that can be replaced by wrong ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from problems.linear_cross_entropy.sampling import IGNORE_INDEX
from problems.spec import Gradients

T = torch.Tensor


def kept_rows(target: T) -> T:
    """True for the rows that count."""
    return target != IGNORE_INDEX


def one_hot(target: T, classes: int, dtype: torch.dtype) -> T:
    """(M, classes) with a one at each row's target; an ignored row has none."""
    return (torch.arange(classes, device=target.device) == target[:, None]).to(dtype)


def scale_of(grad_output: T, target: T) -> T:
    """What every row that counts is multiplied by: the mean's share of the upstream gradient."""
    return grad_output / kept_rows(target).sum().clamp(min=1)


def probabilities(logits: T, lse: T) -> T:
    return torch.exp(logits - lse[:, None])


def difference(p: T, target: T) -> T:
    """p minus the one-hot, 0 in ignored rows."""
    return torch.where(kept_rows(target)[:, None], p - one_hot(target, p.shape[1], p.dtype), 0)


@dataclass(frozen=True)
class Steps:
    """What leads from the arguments to the gradients. The defaults are right.

    `rounded` is what happens to the gradient with respect to the logits before it enters the products.
    """

    logits: Callable[[T, T], T] = lambda hidden, weight: hidden @ weight.t()
    probabilities: Callable[[T, T], T] = probabilities
    difference: Callable[[T, T], T] = difference
    scale: Callable[[T, T], T] = scale_of
    rounded: Callable[[T], T] = lambda x: x
    dhidden: Callable[[T, T], T] = torch.matmul
    dweight: Callable[[T, T], T] = lambda dz, hidden: dz.t() @ hidden

    def backward(self, grad_output: T, hidden: T, weight: T, target: T, lse: T) -> Gradients:
        """dhidden (M, K) and dweight (V, K) in the dtype of the arguments."""
        p = self.probabilities(self.logits(hidden, weight), lse)
        dz = self.rounded(self.difference(p, target))
        scale = self.scale(grad_output, target)
        return self.dhidden(dz, weight) * scale, self.dweight(dz, hidden) * scale


def rounded_to_bfloat16(x: T) -> T:
    """What a tensor core takes of a float32 matrix."""
    return x.bfloat16().float()


def in_low_precision(steps: Steps, arguments: dict[str, T]) -> Gradients:
    """`steps` in float32 on bfloat16 arguments; dhidden in bfloat16, dweight in float32."""
    wide = {n: t.float() if t.is_floating_point() else t for n, t in arguments.items()}
    dhidden, dweight = steps.backward(**wide)
    return dhidden.bfloat16(), dweight
