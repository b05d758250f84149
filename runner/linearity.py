"""Every gradient is linear in the upstream gradient: B(g + h) − B(g) is B(h), whatever the operator.

What this sees that single cases do not: values that are clipped, thresholded or remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from problems.spec import Case, Problem, Role, Tensors
from runner.compare import Expectation, compare, expect
from wire.verdict import GradientReport

NAME = "linear_in_upstream"
WHY = "The gradient is linear in grad_output: what g + h gives less what g gives is what h gives."
# Multiples of STEP up to LARGEST: few enough bits that g + h is exact in bfloat16.
STEP = 0.125
LARGEST = 4.0

Call = Callable[[Tensors], tuple[torch.Tensor, ...]]


@dataclass(frozen=True)
class Upstreams:
    """The same arguments under g, under h and under g + h."""

    one: Tensors
    other: Tensors
    both: Tensors


def suitable(cases: Sequence[Case]) -> Case:
    """The case to try it on: the largest of ordinary values and layouts, where nothing is added to a
    buffer, which is not linear."""
    ordinary = [c for c in cases if c.values == "normal" and not c.layouts and not c.accumulate]
    return max(ordinary or cases, key=lambda c: torch.Size(c.dims.values()).numel())


def upstreams(problem: Problem, case: Case, seed: int) -> Upstreams:
    """Arguments of `case` under two upstream gradients and their exact sum."""
    name = next(a.name for a in problem.arguments if a.role is Role.GRAD_OUTPUT)
    arguments = problem.make_arguments(case, seed)
    shape, dtype = arguments[name].shape, arguments[name].dtype
    generator = torch.Generator().manual_seed(seed)
    g, h = (
        (torch.randn(shape, generator=generator, dtype=torch.float64) / STEP)
        .round()
        .mul(STEP)
        .clamp(-LARGEST, LARGEST)
        for _ in range(2)
    )
    one, other, both = (arguments | {name: t.to(dtype)} for t in (g, h, g + h))
    return Upstreams(one, other, both)


def check(problem: Problem, call: Call, upstream: Upstreams) -> tuple[GradientReport, ...]:
    """Calls the submission under g and under g + h, and compares the difference with B(h)."""
    first, both = call(upstream.one), call(upstream.both)
    difference = [
        b.to(torch.float64) - a.to(torch.float64) for a, b in zip(first, both, strict=True)
    ]
    known = [expect(problem, a) for a in (upstream.one, upstream.both)]
    expected = expect(problem, upstream.other)
    may_stray = tuple(a + b for a, b in zip(known[0].yardsticks, known[1].yardsticks, strict=True))
    return compare(problem, difference, Expectation(expected.references, may_stray, {}))
