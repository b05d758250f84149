"""What a wrong gradient looks like: comparing it with the gradients that common mistakes give.

Each suspicion recomputes the gradient in float64 as it would be under one mistake. It is voiced only
when it explains every failing case that can tell, in the same words, to within the rounding of the
output; better silent than wrong. The mistakes are those that public bug trackers show.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch

from problems.spec import Dims, GradientSpec, Problem, Role, Tensors, widen

# What a suspicion leaves unexplained must be below this share of what was wrong, and of the size.
REMAINS = 0.05
# A suspicion answers for one case with a sentence, or with one of these.
CANNOT_TELL = ""
CONTRADICTED = None
SMALLEST = 12  # elements a gradient needs for a pattern in it to mean something
MOST_CASES = 6


@dataclass(frozen=True)
class Failure:
    """A case in which a gradient is wrong: what went in, what came out, what should have."""

    dims: Dims
    arguments: Tensors
    returned: tuple[torch.Tensor, ...]
    references: tuple[torch.Tensor, ...]
    wrong: tuple[bool, ...]


def diagnose(problem: Problem, failures: Sequence[Failure]) -> str:
    """One or two sentences on what the wrong gradients look like; empty without strong evidence."""
    said = []
    for index, spec in enumerate(problem.gradients):
        concerned = [f for f in failures if f.wrong[index]][:MOST_CASES]
        if concerned:
            said.append(_diagnose_one(problem, spec, index, concerned))
    found = [s for s in dict.fromkeys(said) if s]
    return " ".join(found)


def _diagnose_one(
    problem: Problem, spec: GradientSpec, index: int, failures: Sequence[Failure]
) -> str:
    looks = [_Look(problem, spec, index, f) for f in failures]
    for suspicion in SUSPICIONS:
        answers = {suspicion(look) for look in looks if look.tells(suspicion)}
        voiced = answers - {CANNOT_TELL}
        if len(voiced) == 1 and CONTRADICTED not in voiced:
            return str(voiced.pop())
    return ""


Suspicion = Callable[["_Look"], str | None]


@dataclass(frozen=True)
class _Look:
    """One wrong gradient of one failure, and ways of asking what it resembles."""

    problem: Problem
    spec: GradientSpec
    index: int
    failure: Failure

    @property
    def got(self) -> torch.Tensor:
        return widen(self.failure.returned[self.index])

    @property
    def right(self) -> torch.Tensor:
        return self.failure.references[self.index]

    @property
    def name(self) -> str:
        return self.spec.name

    def tells(self, suspicion: Suspicion) -> bool:
        """Whether this case has enough in it, and enough wrong with it, to recognise something."""
        if self.right.numel() < SMALLEST:
            return False
        if suspicion in SUBTLE:
            return True
        return float(self.right.norm()) > 0 and not self.relative_error < 4 * self.noise

    @property
    def noise(self) -> float:
        """What rounding the output leaves, relative to its size."""
        return torch.finfo(self.failure.returned[self.index].dtype).eps / 3

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
        arguments = self.failure.arguments | changed
        return self.problem.reference(arguments)[self.index]

    def upstream(self) -> tuple[str, torch.Tensor]:
        name = next(a.name for a in self.problem.arguments if a.role is Role.GRAD_OUTPUT)
        return name, self.failure.arguments[name]


def _nothing_written(look: _Look) -> str | None:
    if bool((look.got == 0).all()):
        return f"{look.name} is zero everywhere."
    if bool(look.got.isnan().all()):
        return f"{look.name} is NaN everywhere: was it written at all?"
    return CONTRADICTED


def _sign(look: _Look) -> str | None:
    return f"{look.name} has the wrong sign." if look.is_like(-look.right) else CONTRADICTED


def _factor(look: _Look) -> str | None:
    """A constant factor that a quantity of the case accounts for, or a plain number does."""
    size = float(look.right.square().sum())
    factor = float((look.got * look.right).sum()) / size
    if not math.isfinite(factor) or factor == 0 or not look.is_like(factor * look.right):
        return CONTRADICTED
    for name, value, hint in _quantities(look):
        if value > 1 and math.isclose(factor, value, rel_tol=4e-3):
            return f"{look.name} is exactly {name} times too large{hint}."
        if value > 1 and math.isclose(factor, 1 / value, rel_tol=4e-3):
            return f"{look.name} is exactly {name} times too small."
    for plain in (2.0, 4.0, 0.5, 0.25):
        if math.isclose(factor, plain, rel_tol=2e-3):
            return f"{look.name} is exactly {plain:g} times what it should be."
    return f"{look.name} is {factor:.3g} times what it should be, everywhere."


def _quantities(look: _Look) -> Iterator[tuple[str, float, str]]:
    """Numbers of the case that a mean divides by: its sizes, and rows that count."""
    for argument in look.problem.arguments:
        tensor = look.failure.arguments[argument.name]
        if not tensor.is_floating_point() and tensor.ndim == 1 and bool((tensor < 0).any()):
            kept = float((tensor >= 0).sum())
            yield "the number of rows that count", kept, ": is the mean's 1/N missing?"
    for name, size in look.failure.dims.items():
        yield name, float(size), f": is the mean's 1/{name} missing?"


def _upstream_ignored(look: _Look) -> str | None:
    name, upstream = look.upstream()
    if look.is_like(look.closed_form(**{name: torch.ones_like(upstream)})):
        return f"{look.name} is right only where {name} is 1: is the upstream gradient used?"
    if upstream.ndim and upstream.numel():
        first = torch.full_like(upstream, float(upstream.reshape(-1)[0]))
        if look.is_like(look.closed_form(**{name: first})):
            return f"{look.name} takes the first element of {name} for all of it."
    return CONTRADICTED


def _strides_ignored(look: _Look) -> str | None:
    """An argument that is not contiguous, read as if it were."""
    answer: str | None = CONTRADICTED
    for name, tensor in look.failure.arguments.items():
        if tensor.is_contiguous() or not tensor.is_floating_point():
            continue
        linear = _read_as_contiguous(tensor)
        if linear is None:
            answer = CANNOT_TELL  # it read past the memory there is
        elif look.is_like(look.closed_form(**{name: linear})):
            return f"{look.name} reads {name} as if it were contiguous, without its strides."
    return answer


def _read_as_contiguous(tensor: torch.Tensor) -> torch.Tensor | None:
    """The first elements of `tensor`'s memory in its shape; None if it has fewer."""
    storage = torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage())
    flat = storage[tensor.storage_offset() :]
    if flat.numel() < tensor.numel():
        return None
    return flat[: tensor.numel()].reshape(tensor.shape)


def _summed_dimensions(look: _Look) -> Iterator[str]:
    """Dimensions that the gradient sums over: some argument has them, the gradient has not."""
    for name in look.failure.dims:
        having = [a for a in look.problem.arguments if name in a.shape]
        if having and name not in look.spec.shape:
            yield name


def _slice_of(look: _Look, dimension: str, begin: int, end: int) -> torch.Tensor:
    """The gradient as the sum over a part of `dimension` only."""
    changed = {}
    for argument in look.problem.arguments:
        tensor = look.failure.arguments[argument.name]
        for axis, name in enumerate(argument.shape):
            if name == dimension:
                tensor = tensor.narrow(axis, begin, end - begin)
        changed[argument.name] = tensor
    return look.closed_form(**changed)


def _part_of_the_sum(look: _Look) -> str | None:
    """A sum over one block, or over whole blocks only."""
    if bool((look.got == 0).all()):
        return CANNOT_TELL  # fewer elements than one block
    for dimension in _summed_dimensions(look):
        size = look.failure.dims[dimension]
        for block in (2**i for i in range(11) if 2**i < size):
            whole = size // block * block
            last = (size - 1) // block * block
            if look.is_like(_slice_of(look, dimension, 0, block)):
                part = f"the first {block}" if block > 1 else "the first element"
                return f"{look.name} sums over {part} of {dimension} only, not over all blocks."
            if look.is_like(_slice_of(look, dimension, last, size)):
                return f"{look.name} keeps the last block of {dimension} only: do blocks overwrite?"
            if whole != size and look.is_like(_slice_of(look, dimension, 0, whole)):
                return f"{look.name} leaves out the last, partial block of {dimension}."
    return CONTRADICTED


def _named_mistake(look: _Look) -> str | None:
    for mistake in look.problem.mistakes:
        wide = {n: widen(t) for n, t in look.failure.arguments.items()}
        if look.is_like(mistake.gradients(**wide)[look.index]):
            return f"{look.name} {mistake.what}" + ("" if mistake.what.endswith("?") else ".")
    return CONTRADICTED


def _transposed(look: _Look) -> str | None:
    if look.right.ndim != 2 or 1 in look.right.shape:
        return CANNOT_TELL
    rows, columns = look.right.shape
    if look.is_like(look.right.t().reshape(rows, columns)):
        return f"{look.name} is transposed."
    return CONTRADICTED


def _other_gradient(look: _Look) -> str | None:
    for other, spec in zip(look.failure.references, look.problem.gradients, strict=True):
        if spec.name != look.name and other.shape == look.right.shape and look.is_like(other):
            return f"{look.name} holds {spec.name}: are they returned in the right order?"
    return CONTRADICTED


def _zeros_not_kept(look: _Look) -> str | None:
    """Everything right but for rows that must be zero."""
    zero = (look.right == 0).all(dim=-1, keepdim=True).expand_as(look.right)
    wrong = (look.got - look.right).abs() > 0.01 * look.right.abs().max()
    inside = int((wrong & zero).sum())
    if look.right.ndim == 2 and inside and not bool((wrong & ~zero).any()):
        return f"{look.name} is right except in rows that must be zero: are ignored rows left out?"
    return CONTRADICTED


def _last_block(look: _Look) -> str | None:
    """Everything right but the end of one axis, or of the memory."""
    wrong = ~((look.got - look.right).abs() <= 0.02 * look.right.abs().max())
    zero = bool((look.got[wrong] == 0).all())
    for axis, name in enumerate(look.spec.shape):
        others = [a for a in range(wrong.ndim) if a != axis]
        along = wrong.sum(dim=others) if others else wrong.int()
        if _is_tail(along, zero=zero):
            what = "zero in" if zero else "right except in"
            return f"{look.name} is {what} the last block of {name}: mask or grid short?"
    if _is_tail(wrong.reshape(-1).int(), zero=zero):
        return f"{look.name} is right except for its last elements in memory: grid short?"
    return CONTRADICTED


def _is_tail(wrong: torch.Tensor, *, zero: bool) -> bool:
    """Whether the wrong ones are the last: a part of them all, right before, wrong throughout."""
    if not bool(wrong.any()):
        return False
    start = int((wrong > 0).int().argmax())
    tail = wrong[start:] > 0
    longest = wrong.numel() * (3 if zero else 2) // 4
    return start > 0 and tail.numel() <= longest and float(tail.double().mean()) > 0.3


def _not_finite(look: _Look) -> str | None:
    if bool(torch.isfinite(look.got).all()):
        return CONTRADICTED
    return f"{look.name} is NaN or infinite in places: overflow, 0/0, or memory nobody wrote?"


def _rounded(look: _Look) -> str | None:
    """Right to a few bits everywhere: something on the way was rounded to bfloat16."""
    dtype = look.failure.returned[look.index].dtype
    fewest = 3e-4 if dtype == torch.float32 else 4e-3
    if not fewest < look.relative_error < 3e-2:
        return CONTRADICTED
    off = (look.got - look.right).abs() > 0.1 * fewest * look.right.abs()
    if float(off.double().mean()) < 0.3:
        return CONTRADICTED
    if dtype == torch.float32:
        return f"{look.name} is right to a few bits only: are sums kept in bfloat16 somewhere?"
    return f"{look.name} is right to a few bits only: are intermediate results rounded to bfloat16?"


# The more particular first: what explains by a named mistake is not called a factor.
SUSPICIONS: tuple[Suspicion, ...] = (
    _nothing_written,
    _sign,
    _strides_ignored,
    _named_mistake,
    _upstream_ignored,
    _part_of_the_sum,
    _other_gradient,
    _transposed,
    _zeros_not_kept,
    _factor,
    _last_block,
    _not_finite,
    _rounded,
)
# What these see is small by nature.
SUBTLE: tuple[Suspicion, ...] = (_not_finite, _rounded)
