"""Comparing a gradient with its float64 reference: several measures, the worst of which decides.

A single norm hides too much: a cross-entropy backward that never reads the logits passes every usual
one. So errors are measured over all elements, within quantile bins of the reference's magnitude, by row,
by column, and element by element. `runner.tolerance` says what is allowed and why.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from problems.spec import Gradients, GradientSpec, Problem, Tensors, widen
from runner import tolerance
from runner.heat_map import heat_map
from wire.verdict import GradientReport, Measure, WrongElement


@dataclass(frozen=True)
class Expectation:
    """What a call should return: float64 references and, element by element, their yardsticks."""

    references: Gradients
    yardsticks: Gradients
    invariants: Mapping[str, Mapping[str, torch.Tensor]]  # gradient → name → weights


def expect(problem: Problem, arguments: Tensors) -> Expectation:
    """The closed form in float64 on exactly `arguments`, and how far honest arithmetic may stray."""
    references = problem.reference(arguments)
    baseline = problem.baseline(**arguments)
    yardsticks = [
        (widen(b) - r).abs().nan_to_num(nan=0.0, posinf=0.0)
        for b, r in zip(baseline, references, strict=True)
    ]
    generator = torch.Generator().manual_seed(0)
    draws = tolerance.DRAWS_OF_ROUNDINGS if problem.free_roundings else tolerance.PERTURBATIONS
    for _ in range(draws):
        moved = problem.reference(
            {n: _perturb(t, generator, problem.free_roundings) for n, t in arguments.items()}
        )
        for i, (m, r) in enumerate(zip(moved, references, strict=True)):
            yardsticks[i] = torch.maximum(yardsticks[i], (m - r).abs().nan_to_num(nan=0.0))
    wide = {n: widen(t) for n, t in arguments.items()}
    invariants: dict[str, dict[str, torch.Tensor]] = {}
    for invariant in problem.invariants:
        weights = invariant.weights(**wide)
        invariants.setdefault(invariant.gradient, {})[invariant.name] = weights
    return Expectation(references, tuple(yardsticks), invariants)


def _perturb(
    tensor: torch.Tensor, generator: torch.Generator, free_roundings: bool
) -> torch.Tensor:
    """`tensor` moved by a few float32 roundings, or by one of its own where kernels round freely."""
    if not tensor.is_floating_point():
        return tensor
    share = tolerance.PERTURBATION
    if free_roundings:
        share = max(share, torch.finfo(tensor.dtype).eps / 2)
    wide = widen(tensor)
    noise = torch.rand(wide.shape, generator=generator, dtype=torch.float64) * 2 - 1
    return wide * (1 + share * noise)


def compare(
    problem: Problem, returned: Sequence[torch.Tensor], expectation: Expectation
) -> tuple[GradientReport, ...]:
    """One report for each gradient. `returned` has the declared shapes."""
    free = problem.free_roundings
    return tuple(
        _compare_one(
            spec, got, reference, yardstick, expectation.invariants.get(spec.name, {}), free
        )
        for spec, got, reference, yardstick in zip(
            problem.gradients, returned, expectation.references, expectation.yardsticks, strict=True
        )
    )


def _compare_one(
    spec: GradientSpec,
    got: torch.Tensor,
    reference: torch.Tensor,
    yardstick: torch.Tensor,
    invariants: Mapping[str, torch.Tensor],
    free_roundings: bool,
) -> GradientReport:
    if not bool(torch.isfinite(reference).all()):
        raise ArithmeticError(
            f"the reference of {spec.name} is not finite: the problem's case is broken"
        )
    comparison = _Comparison(got, reference, yardstick, spec.dtype, free_roundings)
    measures = comparison.measures() + tuple(
        comparison.invariant(label, weights) for label, weights in invariants.items()
    )
    passed = all(m.passed for m in measures)
    worst = max(measures, key=lambda m: m.severity)
    wrong = comparison.wrong
    return GradientReport(
        name=spec.name,
        passed=passed,
        shape=tuple(got.shape),
        dtype=str(spec.dtype).removeprefix("torch."),
        measures=measures,
        error=worst.error,
        allowed=worst.allowed,
        worst_measure=worst.name,
        wrong_count=int(wrong.sum()),
        total=wrong.numel(),
        first_wrong=None if passed else comparison.first_wrong(),
        heat_map=None if passed or not bool(wrong.any()) else heat_map(wrong),
    )


class _Comparison:
    """One gradient beside its reference: what each element and each group of them may be off by."""

    def __init__(
        self,
        got: torch.Tensor,
        reference: torch.Tensor,
        yardstick: torch.Tensor,
        dtype: torch.dtype,
        free_roundings: bool,
    ) -> None:
        self._got = widen(got)
        self._reference = reference
        self._yardstick = yardstick
        # Comparisons with NaN are false; an infinite error is never within an allowance.
        difference = (self._got - reference).abs()
        self._error = torch.where(torch.isfinite(self._got), difference, torch.inf)
        # The error of a float32 sum does not shrink with its result, so its floor does not either.
        self._exact = dtype in (torch.float32, torch.float64)
        self._free_roundings = free_roundings
        coarse = self._right_by_chance(reference.numel())
        self._factor = tolerance.floor_factor(torch.bfloat16 if coarse else dtype)
        self._least_scale = _rms(reference) if self._exact else reference.new_zeros(())
        self._bins = _magnitude_bins(reference.abs())
        self._pooled = self._without_luck()
        self._allowed = self._bound(self._pooled, reference.abs())
        self.wrong = ~(self._error <= self._allowed)

    def _bound(self, yardstick: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        floor = self._factor * torch.maximum(scale, self._least_scale)
        return tolerance.K * yardstick + floor + tolerance.ABSOLUTE

    def _right_by_chance(self, elements: int) -> bool:
        """Whether so few elements may have been rounded right by chance, so that they measure nothing.

        The floor of a 16-bit gradient allows for that. A float32 gradient has a finer one, and is no
        more accurate than bfloat16 all the same where kernels round matrices in places of their own.
        """
        return self._free_roundings and self._exact and elements < tolerance.SMALLEST_BIN

    def _without_luck(self) -> torch.Tensor:
        """For each element the largest yardstick among elements of like magnitude.

        Where kernels round matrices in places of their own, an error is of the size of the terms, which
        an element has in common with its row: there, also the largest of its row.
        """
        yardstick = torch.zeros_like(self._reference)
        for chosen in self._bins:
            yardstick[chosen] = self._yardstick[chosen].amax()
        if self._free_roundings and yardstick.ndim:
            yardstick = torch.maximum(yardstick, self._yardstick.amax(-1, keepdim=True))
        return yardstick

    def measures(self) -> tuple[Measure, ...]:
        if not self._error.numel():
            return (Measure("relative RMS", error=0.0, allowed=0.0),)
        everything = torch.ones_like(self.wrong)
        found = [self._group("relative RMS", everything)]
        excess = self._error / self._allowed
        found.append(
            Measure("largest error, as a share of its allowance", _number(excess.amax()), 1.0)
        )
        bins = [b for b in self._bins if int(b.sum()) >= tolerance.SMALLEST_BIN]
        if len(bins) > 1:
            for i, chosen in enumerate(bins, 1):
                found.append(self._group(f"relative RMS, magnitude bin {i} of {len(bins)}", chosen))
        if self._error.ndim >= 2:
            found.append(self._lines("relative RMS, worst row", 1))
            found.append(self._lines("relative RMS, worst column", 0))
        if not self._exact:
            found.append(self._scale())
        return tuple(found)

    def _scale(self) -> Measure:
        """Whether the whole gradient is a little too large or small, as a share of what may be.

        Roundings fall on both sides and cancel along the reference; a factor does not. Half a unit in
        the last place is allowed on top for a kernel that rounds once more than plain PyTorch.
        """
        error = torch.where(torch.isfinite(self._error), self._got - self._reference, torch.inf)
        reference = self._reference
        lean = (error * reference).sum().abs()
        chance = 2 * tolerance.K * (self._yardstick * reference).square().sum().sqrt()
        chance = chance + self._factor * reference.square().square().sum().sqrt()
        bound = chance + self._factor / 2 * reference.square().sum() + tolerance.ABSOLUTE
        return Measure("scale, as a share of what rounding shifts", _number(lean / bound), 1.0)

    def _group(self, name: str, chosen: torch.Tensor) -> Measure:
        scale = _rms(self._reference[chosen])
        bound = self._bound(_rms(self._yardstick[chosen]), scale)
        return _relative(name, _rms(self._error[chosen]), bound, scale)

    def _lines(self, name: str, axis: int) -> Measure:
        """The worst row (`axis` 1) or column (`axis` 0), by its share of what it is allowed.

        Where kernels round matrices in places of their own, a line of few elements besides zeros may
        have been rounded right by chance in all that was tried, so that it measures nothing.
        """
        error, scale, yardstick, pooled = (
            _rms(t.reshape(-1, t.shape[-1]), axis)
            for t in (self._error, self._reference, self._yardstick, self._pooled)
        )
        if self._free_roundings:
            filled = (self._reference != 0).reshape(-1, self._reference.shape[-1]).sum(axis)
            yardstick = torch.where(filled < tolerance.SMALLEST_BIN, pooled, yardstick)
        bound = self._bound(yardstick, scale)
        worst = int((error / bound).argmax())
        return _relative(name, error[worst], bound[worst], scale[worst])

    def invariant(self, name: str, weights: torch.Tensor) -> Measure:
        """The worst row's weighted sum, as a share of what independent roundings would leave.

        Errors that are each small but lean one way add up here and nowhere else.
        """
        residual = ((self._got - self._reference) * weights).sum(-1).abs()
        unit = self._bound(self._yardstick, self._reference.abs()) * weights.abs()
        bound = unit.square().sum(-1).sqrt() + tolerance.ABSOLUTE
        share = torch.where(torch.isfinite(residual), residual / bound, torch.inf)
        return Measure(name, _number(share.amax()) if share.numel() else 0.0, 1.0)

    def first_wrong(self) -> WrongElement:
        """The first element beyond its allowance; if none is by itself, the one nearest to it."""
        flat = self.wrong.reshape(-1)
        nearest = (self._error / self._allowed).reshape(-1).argmax()
        position = int(flat.int().argmax()) if bool(flat.any()) else int(nearest)
        index = torch.unravel_index(torch.tensor(position), self.wrong.shape)
        return WrongElement(
            index=tuple(int(i) for i in index),
            expected=f"{float(self._reference.reshape(-1)[position]):.6g}",
            got=f"{float(self._got.reshape(-1)[position]):.6g}",
        )


def _magnitude_bins(size: torch.Tensor) -> list[torch.Tensor]:
    """Masks that split elements by magnitude: exact zeros, then quantiles of the rest."""
    zero = size == 0
    rest = size[~zero]
    masks = [zero] if bool(zero.any()) else []
    n = tolerance.MAGNITUDE_BINS
    if rest.numel() < n * tolerance.SMALLEST_BIN:
        return [*masks, ~zero] if rest.numel() else masks
    order = rest.sort().values
    edges = torch.stack([order[order.numel() * i // n] for i in range(1, n)])
    which = torch.bucketize(size, edges, right=True)
    quantiles = [(which == i) & ~zero for i in range(n)]
    return masks + [q for q in quantiles if bool(q.any())]


def _relative(name: str, error: torch.Tensor, bound: torch.Tensor, scale: torch.Tensor) -> Measure:
    """An error and its bound in units of the reference's scale (absolute where that is zero)."""
    unit = float(scale) or 1.0
    return Measure(name, _number(error / unit), float(bound) / unit)


def _rms(values: torch.Tensor, axis: int | None = None) -> torch.Tensor:
    if axis is None:
        return values.square().mean().sqrt() if values.numel() else values.new_zeros(())
    return values.square().mean(axis).sqrt()


def _number(value: torch.Tensor) -> float | None:
    number = float(value)
    return number if math.isfinite(number) else None
