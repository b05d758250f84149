"""One wrong gradient of one case, and ways of asking what it resembles."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from problems.spec import Dims, GradientSpec, Problem, Role, Tensors, widen

# What a candidate leaves unexplained must be below this share of what was wrong, and of the size.
REMAINS = 0.05
NEAR_ZERO = 8.0  # times the noise: the largest of many roundings
SMALLEST = 12  # elements a gradient needs for a pattern in it to mean something


@dataclass(frozen=True)
class Failure:
    """A case in which a gradient is wrong: what went in, what came out, what should have."""

    dims: Dims
    arguments: Tensors
    returned: tuple[torch.Tensor, ...]
    references: tuple[torch.Tensor, ...]
    wrong: tuple[bool, ...]


@dataclass(frozen=True)
class Look:
    """One wrong gradient of one failure, and ways of asking what it resembles.

    Where it was to be added to a buffer, the gradient is what the buffer holds more than before.
    """

    problem: Problem
    spec: GradientSpec
    index: int
    failure: Failure

    @property
    def got(self) -> torch.Tensor:
        return self._without_buffer(widen(self.failure.returned[self.index]))

    @property
    def right(self) -> torch.Tensor:
        return self._without_buffer(self.failure.references[self.index])

    @property
    def arguments(self) -> Tensors:
        """What the gradient is computed from: all but the buffers."""
        return {a.name: self.failure.arguments[a.name] for a in self.problem.arguments}

    @property
    def buffer(self) -> torch.Tensor | None:
        """What the buffer held, in float64; None where there is none."""
        held = self.failure.arguments.get(self.spec.buffer)
        return None if held is None else widen(held)

    def _without_buffer(self, total: torch.Tensor) -> torch.Tensor:
        return total if self.buffer is None else total - self.buffer

    @property
    def name(self) -> str:
        return self.spec.name

    def tells(self, *, subtle: bool) -> bool:
        """Whether this case has enough in it, and enough wrong with it, to recognise something."""
        if not subtle and int((self.right != 0).sum()) < SMALLEST:
            return False
        if subtle:
            return True
        return float(self.right.norm()) > 0 and not self.relative_error < 3 * self.noise

    @property
    def noise(self) -> float:
        """What rounding leaves, relative to the gradient's size: of the output, or before products."""
        inside = torch.finfo(torch.bfloat16).eps / 2 if self.problem.chained_products else 0.0
        return max(torch.finfo(self.failure.returned[self.index].dtype).eps / 3, inside)

    @property
    def near_zero(self) -> float:
        """What an element that should be zero may be off by where products take rounded matrices."""
        if not self.problem.chained_products:
            return 0.0
        return NEAR_ZERO * self.noise * float(self.right.square().mean().sqrt())

    @property
    def relative_error(self) -> float:
        return float((self.got - self.right).norm() / self.right.norm())

    def is_like(self, candidate: torch.Tensor) -> bool:
        """Whether `candidate` explains the gradient, and differs from the right one."""
        finite = torch.isfinite(self.got)
        if candidate.shape != self.got.shape or not torch.equal(finite, torch.isfinite(candidate)):
            return False
        got, like, right = self.got[finite], candidate[finite], self.right[finite]
        remains, size = float((got - like).norm()), float(like.norm())
        was_wrong = float((got - right).norm()) if bool(finite.all()) else size
        return remains <= REMAINS * min(was_wrong, size) + self.noise * size and size > 0

    def closed_form(self, **changed: torch.Tensor) -> torch.Tensor:
        """The float64 gradient with some arguments replaced."""
        return self.problem.reference(self.arguments | changed)[self.index]

    def upstream(self) -> tuple[str, torch.Tensor]:
        name = next(a.name for a in self.problem.arguments if a.role is Role.GRAD_OUTPUT)
        return name, self.arguments[name]
