"""Honest backward functions of each problem: ways of computing it that a judge must accept.

They differ from the plain PyTorch backward in what a good kernel may differ in: the order and the
grouping of sums, the approximation of exponentials, a second rounding where nothing cancels after it.
A float32 gradient is added up in float32 from products kept in float32; rounding those products is not
honest, because the problem asks for more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

import torch
import torch.nn.functional as F

from problems import Problem
from problems.pairs import whole
from problems.spec import Gradients

Backward = Callable[..., Gradients]
T = torch.Tensor

# ex2.approx.ftz.f32 of NVIDIA's PTX is within 2 units of the last place.
APPROXIMATE = 2 * torch.finfo(torch.float32).eps
LOG2_E = 1.4426950408889634


def honest(problem: Problem) -> Mapping[str, Backward]:
    """Honest backward functions of `problem` by a few words on how they compute."""
    reference_solution = _answering(problem, import_module(f"kernels.{problem.slug}.pytorch"))

    def in_float32(**arguments: T) -> Gradients:
        found = zip(_in_float32(problem, arguments), problem.gradients, strict=True)
        return tuple(gradient.to(spec.dtype) for gradient, spec in found)

    return {
        "the reference solution": reference_solution,
        "closed form in float32": in_float32,
        **{
            name: problem.accumulating(backward)
            for name, backward in (
                *_VARIANTS.get(problem.slug, {}).items(),
                *_own_variants(problem).items(),
            )
        },
    }


def _answering(problem: Problem, solution: ModuleType) -> Backward:
    """A solution as one function from the arguments to gradients."""
    if problem.pair is not None:
        return whole(problem, solution.forward, solution.backward)

    return lambda **arguments: problem.call(solution.backward, arguments)


def _own_variants(problem: Problem) -> Mapping[str, Backward]:
    """`HONEST` of the problem's own module `honest`, if it has one."""
    name = f"problems.{problem.slug}.honest"
    if find_spec(name) is None:
        return {}
    variants: Mapping[str, Backward] = import_module(name).HONEST
    return variants


def between(problem: Problem) -> Mapping[str, Backward]:
    """Careless but unbiased, or biased but small: a judge may take or refuse these."""

    def truncating(**arguments: T) -> Gradients:
        found = zip(_in_float32(problem, arguments), problem.gradients, strict=True)
        return tuple(g if s.dtype is torch.float32 else _truncated(g) for g, s in found)

    return {
        "stores truncate instead of rounding": truncating,
        **({"dup wholly in bfloat16": _swiglu_dup_in_bfloat16} if problem.slug == "swiglu" else {}),
    }


def _in_float32(problem: Problem, arguments: Mapping[str, T]) -> Gradients:
    single = {n: t.float() if t.is_floating_point() else t for n, t in arguments.items()}
    return problem.closed_form(**single)


@dataclass(frozen=True)
class _Order:
    """How the terms of a sum are taken: `block` at a time, in their order or shuffled."""

    block: int
    shuffled: bool = False

    def parts(self, *tensors: T) -> Iterator[tuple[T, ...]]:
        """Blocks along dim 0 of `tensors`, the same of each."""
        order = torch.randperm(len(tensors[0])) if self.shuffled else slice(None)
        yield from zip(*(torch.split(t[order], self.block) for t in tensors), strict=True)

    def sum(self, terms: T) -> T:
        """The sum along dim 0, rounded to float32 after each block."""
        total = torch.zeros(terms.shape[1:])
        for (part,) in self.parts(terms):
            total += part.sum(0)
        return total

    def product(self, a: T, b: T) -> T:
        """aᵀ b, contracted along dim 0, rounded to float32 after each block."""
        total = torch.zeros(a.shape[1], b.shape[1])
        for rows, others in self.parts(a, b):
            total.addmm_(rows.t(), others)
        return total


_ORDERS = {
    "sums in blocks": _Order(32),
    "sums one by one": _Order(1),
    "atomic sums in random order": _Order(1, shuffled=True),
}


def _exp(values: T) -> T:
    """exp by an approximate power of two, which is exact for 0 as the hardware's is."""
    wrong = 1 + APPROXIMATE * (2 * torch.rand(values.shape) - 1)
    return torch.where(values == 0, 1.0, torch.exp2(values * LOG2_E) * wrong)


def _relu_squared_in_bfloat16(grad_output: T, x: T) -> Gradients:
    return (2 * grad_output * torch.relu(x),)


def _swiglu_approximate(grad_output: T, gate: T, up: T) -> Gradients:
    dy, g, u = grad_output.float(), gate.float(), up.float()
    sigma = 1 / (1 + _exp(-g))
    dgate = dy * u * (sigma * (1 + g * (1 - sigma)))
    return dgate.bfloat16(), (dy * g * sigma).bfloat16()


def _swiglu_rounded_silu(grad_output: T, gate: T, up: T) -> Gradients:
    """As eager PyTorch: silu is a bfloat16 tensor, SiLU's backward gets a bfloat16 gradient."""
    dgate = torch.ops.aten.silu_backward((grad_output * up).float(), gate.float())
    return dgate.bfloat16(), grad_output * F.silu(gate)


def _softmax(order: _Order) -> Backward:
    def backward(grad_output: T, y: T) -> Gradients:
        g, p = grad_output.float(), y.float()
        return ((p * (g - order.sum((g * p).t())[:, None])).bfloat16(),)

    return backward


def _rms_norm(order: _Order) -> Backward:
    def backward(grad_output: T, x: T, weight: T, rstd: T) -> Gradients:
        r = rstd[:, None]
        x_hat = x.float() * r
        g = grad_output.float() * weight.float()
        c = order.sum((g * x_hat).t())[:, None] / x.shape[1]
        return (r * (g - x_hat * c)).bfloat16(), order.sum(grad_output.float() * x_hat)

    return backward


def _layer_norm(order: _Order) -> Backward:
    def backward(grad_output: T, x: T, weight: T, mean: T, rstd: T) -> Gradients:
        dy, r = grad_output.float(), rstd[:, None]
        x_hat = (x.float() - mean[:, None]) * r
        g = dy * weight.float()
        c1, c2 = (order.sum(terms.t())[:, None] / x.shape[1] for terms in (g, g * x_hat))
        dx = (r * (g - c1 - x_hat * c2)).bfloat16()
        return dx, order.sum(dy * x_hat), order.sum(dy)

    return backward


def _cross_entropy(power: Callable[[T, T], T], round_difference: bool = False) -> Backward:
    def backward(grad_output: T, logits: T, target: T, lse: T) -> Gradients:
        kept = target != -100
        p = power(logits.float(), lse[:, None])
        p[torch.arange(len(target)), target.clamp(min=0)] -= 1
        scale = (grad_output / kept.sum().clamp(min=1) * kept)[:, None]
        return (((p.bfloat16().float() if round_difference else p) * scale).bfloat16(),)

    return backward


def _linear(order: _Order) -> Backward:
    def backward(grad_output: T, x: T, weight: T) -> Gradients:
        dy = grad_output.float()
        dx = order.product(dy.t(), weight.float())
        return dx.bfloat16(), order.product(dy, x.float()), order.sum(dy)

    return backward


def _swiglu_dup_in_bfloat16(grad_output: T, gate: T, up: T) -> Gradients:
    dgate, _ = _swiglu_approximate(grad_output, gate, up)
    return dgate, grad_output * (gate * torch.sigmoid(gate))


def _truncated(gradient: T) -> T:
    """float32 to bfloat16 by dropping the lower half of the bits."""
    return (gradient.view(torch.int32) & -0x10000).view(torch.float32).bfloat16()


_VARIANTS: Mapping[str, Mapping[str, Backward]] = {
    "relu_squared": {"products in bfloat16": _relu_squared_in_bfloat16},
    "swiglu": {
        "approximate exponential": _swiglu_approximate,
        "SiLU rounded to bfloat16, as eager PyTorch": _swiglu_rounded_silu,
    },
    "softmax": {name: _softmax(order) for name, order in _ORDERS.items()},
    "rms_norm": {name: _rms_norm(order) for name, order in _ORDERS.items()},
    "layer_norm": {name: _layer_norm(order) for name, order in _ORDERS.items()},
    "softmax_cross_entropy": {
        "approximate exponential": _cross_entropy(lambda z, lse: _exp(z - lse)),
        "exponential of z·log₂e − lse·log₂e": _cross_entropy(
            lambda z, lse: torch.exp2(z * LOG2_E - lse * LOG2_E)
        ),
        "p − one-hot rounded to bfloat16": _cross_entropy(
            lambda z, lse: torch.exp(z - lse), round_difference=True
        ),
    },
    "linear": {name: _linear(order) for name, order in _ORDERS.items()},
}
