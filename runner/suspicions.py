"""The mistakes that can be recognised in a wrong gradient, each a function of one case.

A suspicion recomputes the gradient in float64 as it would be under one mistake, and answers with a
sentence if that is what it sees. The mistakes are those that public bug trackers show.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from enum import StrEnum

import torch

from problems.spec import dimensions_of, widen
from runner.look import Look

# Elements from which a distribution of errors can be told.
LARGE = 64
# In a tail that is wrong, at least this share of elements is.
LEAST_COVERED = 0.3
# A block that is left out has at least this many elements.
SMALLEST_BLOCK = 4
# Answers other than a sentence.
CANNOT_TELL = ""
CONTRADICTED = None

Suspicion = Callable[[Look], str | None]


class Kind(StrEnum):
    """The mistakes that can be recognised."""

    BUFFER = "buffer"
    ALL_ZERO = "all_zero"
    SIGN = "sign"
    STRIDES = "strides"
    MISSING_TERM = "missing_term"
    UPSTREAM_ONES = "upstream_ones"
    UPSTREAM_FIRST = "upstream_first"
    ONE_BLOCK = "one_block"
    SWAPPED = "swapped"
    TRANSPOSED = "transposed"
    IGNORED_ROWS = "ignored_rows"
    CONSTANT_FACTOR = "constant_factor"
    LAST_BLOCK = "last_block"
    NOT_FINITE = "not_finite"
    LOW_PRECISION = "low_precision"


def _buffer(look: Look) -> str | None:
    """Right but for what was done with the buffer to add to."""
    if look.buffer is None:
        return CONTRADICTED
    name, buffer = look.spec.buffer, look.buffer
    if bool((look.got == 0).all()):
        return f"{look.name} is {name} as it came: the buffer was ignored, nothing is added to it."
    if look.is_like(look.right - buffer):
        return f"{look.name} overwrites {name}: the buffer was overwritten, not added to."
    if look.is_like(2 * look.right):
        return f"{look.name} is added to {name} twice."
    if look.is_like(look.right + buffer):
        return f"{look.name} counts what {name} held twice."
    return CONTRADICTED


def _all_zero(look: Look) -> str | None:
    if bool((look.got == 0).all()):
        return f"{look.name} is zero everywhere."
    return CONTRADICTED


def _sign(look: Look) -> str | None:
    return f"{look.name} has the wrong sign." if look.is_like(-look.right) else CONTRADICTED


def _factor(look: Look) -> str | None:
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


def _quantities(look: Look) -> Iterator[tuple[str, float, str]]:
    """Numbers of the case that a mean divides by: its sizes, and rows that count."""
    for argument in look.problem.arguments:
        tensor = look.arguments[argument.name]
        if not tensor.is_floating_point() and tensor.ndim == 1 and bool((tensor < 0).any()):
            kept = float((tensor >= 0).sum())
            yield "the number of rows that count", kept, ": is the mean's 1/N missing?"
    for name, size in look.failure.dims.items():
        yield name, float(size), f": is the mean's 1/{name} missing?"


def _upstream_ones(look: Look) -> str | None:
    name, upstream = look.upstream()
    if look.is_like(look.closed_form(**{name: torch.ones_like(upstream)})):
        return f"{look.name} is right only where {name} is 1: is the upstream gradient used?"
    return CONTRADICTED


def _upstream_first(look: Look) -> str | None:
    name, upstream = look.upstream()
    if not upstream.ndim or not upstream.numel():
        return CONTRADICTED
    first = torch.full_like(upstream, float(upstream.reshape(-1)[0]))
    if look.is_like(look.closed_form(**{name: first})):
        return f"{look.name} takes the first element of {name} for all of it."
    return CONTRADICTED


def _strides_ignored(look: Look) -> str | None:
    """An argument that is not contiguous, read as if it were."""
    answer: str | None = CONTRADICTED
    for name, tensor in look.arguments.items():
        if tensor.is_contiguous() or not tensor.is_floating_point():
            continue
        linear = _read_as_contiguous(tensor)
        if linear is None:
            answer = CANNOT_TELL  # it read past the memory there is
            continue
        candidate = look.closed_form(**{name: linear})
        if not bool(torch.isfinite(candidate).any() | torch.isfinite(look.got).any()):
            answer = CANNOT_TELL  # both met the NaN that lies between rows
        elif look.is_like(candidate):
            return f"{look.name} reads {name} as if it were contiguous, without its strides."
    return answer


def _read_as_contiguous(tensor: torch.Tensor) -> torch.Tensor | None:
    """The first elements of `tensor`'s memory in its shape; None if it has fewer."""
    storage = torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage())
    flat = storage[tensor.storage_offset() :]
    if flat.numel() < tensor.numel():
        return None
    return flat[: tensor.numel()].reshape(tensor.shape)


def _summed_dimensions(look: Look) -> Iterator[str]:
    """Dimensions that the gradient sums over: an argument has them as an axis, the gradient has not."""
    kept = {name for entry in look.spec.shape for name in dimensions_of(entry)}
    for name in look.failure.dims:
        if name not in kept and any(name in a.shape for a in look.problem.arguments):
            yield name


def _slice_of(look: Look, dimension: str, begin: int, end: int) -> torch.Tensor:
    """The gradient as the sum over a part of `dimension` only."""
    changed = {}
    for argument in look.problem.arguments:
        tensor = look.arguments[argument.name]
        for axis, name in enumerate(argument.shape):
            if name == dimension:
                tensor = tensor.narrow(axis, begin, end - begin)
        changed[argument.name] = tensor
    return look.closed_form(**changed)


def _part_of_the_sum(look: Look) -> str | None:
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


def _named_mistake(look: Look) -> str | None:
    for mistake in look.problem.mistakes:
        wide = {n: widen(t) for n, t in look.arguments.items()}
        if look.is_like(mistake.gradients(**wide)[look.index]):
            return f"{look.name} {mistake.what}" + ("" if mistake.what.endswith("?") else ".")
    # Nothing at all is left of a small case by many a mistake.
    return CANNOT_TELL if bool((look.got == 0).all()) else CONTRADICTED


def _transposed(look: Look) -> str | None:
    if look.right.ndim == 2 and 1 not in look.right.shape:
        rows, columns = look.right.shape
        if look.is_like(look.right.t().reshape(rows, columns)):
            return f"{look.name} is transposed."
    for name, tensor in look.arguments.items():
        if tensor.ndim == 2 and tensor.is_floating_point() and 1 not in tensor.shape:
            swapped = tensor.reshape(tensor.shape[1], tensor.shape[0]).t()
            if look.is_like(look.closed_form(**{name: swapped})):
                return f"{look.name} takes {name} transposed."
    return CONTRADICTED


def _other_gradient(look: Look) -> str | None:
    for other, spec in zip(look.failure.references, look.problem.gradients, strict=True):
        if spec.name != look.name and other.shape == look.right.shape and look.is_like(other):
            return f"{look.name} holds {spec.name}: are they returned in the right order?"
    return CONTRADICTED


def _zeros_not_kept(look: Look) -> str | None:
    """Everything right but for rows that must be zero."""
    if look.right.ndim < 2:
        return CONTRADICTED
    of_rows = (look.right == 0).flatten(1).all(dim=1)
    zero = of_rows.reshape(-1, *[1] * (look.right.ndim - 1)).expand_as(look.right)
    wrong = ~((look.got - look.right).abs() <= 0.01 * look.right.abs().max())
    inside = int((wrong & zero).sum())
    if inside and not bool((wrong & ~zero).any()):
        return f"{look.name} is right except in rows that must be zero: are ignored rows left out?"
    return CONTRADICTED


def _last_block(look: Look) -> str | None:
    """Everything right but the end of one axis, or of the memory."""
    if bool((look.got == 0).all()):
        return CANNOT_TELL  # fewer elements than one block
    wrong = ~((look.got - look.right).abs() <= 0.1 * look.right.abs() + look.near_zero)
    if int(wrong.sum()) < SMALLEST_BLOCK:
        return CANNOT_TELL  # so few may be wrong by chance, as where updates are lost
    zero = bool((look.got[wrong] == 0).all())
    best, where = LEAST_COVERED, ""
    for axis, name in enumerate(look.spec.shape):
        covered = _tail(wrong.transpose(0, axis).reshape(wrong.shape[axis], -1), zero=zero)
        if covered > best:
            best, where = covered, name
    if where:
        what = "zero in" if zero else "right except in"
        return f"{look.name} is {what} the last block of {where}: mask or grid short?"
    if _tail(wrong.reshape(-1, 1), zero=zero) > LEAST_COVERED:
        return f"{look.name} is right except for its last elements in memory: grid short?"
    return CONTRADICTED


def _tail(wrong: torch.Tensor, *, zero: bool) -> float:
    """If the wrong ones are the last lines of (lines, rest): the share of those lines that is wrong."""
    lines = wrong.any(dim=1)
    if not bool(lines.any()):
        return 0.0
    start = int(lines.int().argmax())
    longest = len(lines) * (3 if zero else 2) // 4
    if start == 0 or len(lines) - start > longest:
        return 0.0
    return float(wrong[start:].double().mean())


def _not_finite(look: Look) -> str | None:
    if bool(torch.isfinite(look.got).all()):
        return CONTRADICTED
    return f"{look.name} is NaN or infinite in places: overflow, 0/0, or memory nobody wrote?"


def _rounded(look: Look) -> str | None:
    """Right to a few bits everywhere: something on the way was rounded to bfloat16."""
    if look.right.numel() < LARGE:
        return CANNOT_TELL
    single = look.failure.returned[look.index].dtype == torch.float32
    fewest = 3e-4 if single else 3e-3
    error = look.got - look.right
    lean = float((error * look.right).sum() / look.right.square().sum())
    leans = abs(lean) > 0.5 * look.relative_error  # a factor, not noise
    if leans or not fewest < look.relative_error < 0.2:
        return CONTRADICTED
    # The rounding of a sum is of the size of its terms, that of an element of the size of the element.
    errors = (error if single else error / look.right)[look.right != 0].abs()
    if not _even(errors) or (not single and not _bounded(errors)):
        return CONTRADICTED
    what = "sums kept in bfloat16 somewhere" if single else "intermediate results in bfloat16"
    return f"{look.name} is right to a few bits only: are {what}?"


def _even(errors: torch.Tensor) -> bool:
    """Whether most elements share in the error, as with rounding: not a few that hold all of it."""
    median = float(errors.median()) if errors.numel() else 0.0
    return median > 0 and float(errors.square().mean().sqrt()) < 4 * median


def _bounded(errors: torch.Tensor) -> bool:
    """Whether relative errors are bounded, as rounding's are: 1.8 if uniform, 2.4 if normal."""
    median, high = torch.quantile(errors[: 1 << 20], torch.tensor([0.5, 0.9], dtype=errors.dtype))
    return float(high / median) < 3.5


# The more particular first: what explains by a named mistake is not called a factor.
SUSPICIONS: tuple[tuple[Kind, Suspicion], ...] = (
    (Kind.BUFFER, _buffer),
    (Kind.ALL_ZERO, _all_zero),
    (Kind.SIGN, _sign),
    (Kind.STRIDES, _strides_ignored),
    (Kind.MISSING_TERM, _named_mistake),
    (Kind.UPSTREAM_ONES, _upstream_ones),
    (Kind.UPSTREAM_FIRST, _upstream_first),
    (Kind.ONE_BLOCK, _part_of_the_sum),
    (Kind.SWAPPED, _other_gradient),
    (Kind.TRANSPOSED, _transposed),
    (Kind.IGNORED_ROWS, _zeros_not_kept),
    (Kind.CONSTANT_FACTOR, _factor),
    (Kind.LAST_BLOCK, _last_block),
    (Kind.NOT_FINITE, _not_finite),
    (Kind.LOW_PRECISION, _rounded),
)

# What these see may be small by nature.
SUBTLE = frozenset({Kind.NOT_FINITE, Kind.LAST_BLOCK, Kind.LOW_PRECISION})
