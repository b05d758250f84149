"""Holding what a call returned against what it should have: gradients, and of a pair also its output."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from problems.pairs import forward_of, inputs_of
from problems.spec import Gradients, GradientSpec, Problem, Tensors
from runner.compare import Expectation, compare, expect
from runner.session import Returned
from wire.verdict import GradientReport


@dataclass(frozen=True)
class Expected:
    """The expectation of the gradients, and of a pair that of the output of `forward`."""

    problem: Problem
    gradients: Expectation
    output: Expectation | None

    @property
    def references(self) -> Gradients:
        """The gradients in float64."""
        return self.gradients.references


def expected(problem: Problem, arguments: Tensors) -> Expected:
    """What a call on `arguments` should return."""
    output = None
    if problem.pair is not None:
        output = expect(forward_of(problem), inputs_of(problem, arguments))
    return Expected(problem, expect(problem, arguments), output)


def checked(returned: Returned, known: Expected) -> tuple[GradientReport, ...]:
    """One report for each tensor, the output of a pair first."""
    reports = compare(known.problem, returned.gradients, known.gradients)
    if known.output is None or returned.forward is None:
        return reports
    return (
        *compare(forward_of(known.problem), returned.forward.gradients, known.output),
        *reports,
    )


def results(problem: Problem, returned: Returned) -> Iterator[tuple[GradientSpec, torch.Tensor]]:
    """Every tensor that was asked for, the output of a pair first."""
    if problem.pair is not None and returned.forward is not None:
        yield problem.pair.output, returned.forward.gradients[0]
    yield from zip(problem.gradients, returned.gradients, strict=True)
