"""Mutants: backward functions that are wrong the way real kernels are wrong, to test a judge with.

Each is plain PyTorch in the submission's own dtypes, so that nothing but its mistake tells it from an
honest kernel. What a GPU does by accident (reading past a row, losing an update, wrapping an offset) is
simulated within the memory of the tensors. A problem's own mutants are in `problems/<slug>/mutants.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module

import torch

from problems.spec import Gradients, GradientSpec, Problem

BLOCK = 64  # rows, or columns, that one program of a wrong kernel works on
# Offsets of wrong kernels wrap here. It stands for 2**31 elements, which no case can reach.
OFFSET_LIMIT = 1 << 13
LOST_SHARE = 0.05  # of the updates, in a race

Backward = Callable[..., Gradients]
Wrong = Callable[..., torch.Tensor]


class Diagnosis(StrEnum):
    """The kind of mistake that a wrong gradient shows, where it shows one."""

    ALL_ZERO = "all_zero"
    BUFFER = "buffer"  # wrong only where it should be added to a buffer
    CONSTANT_FACTOR = "constant_factor"  # right but for one factor, such as a dropped 1/N
    IGNORED_ROWS = "ignored_rows"  # right except in rows that ignore_index excludes
    LAST_BLOCK = "last_block"  # right except in the last rows or columns
    LOW_PRECISION = "low_precision"  # right but for errors of a coarser format
    MISSING_TERM = "missing_term"  # a term or factor of the derivation is left out
    NOT_FINITE = "not_finite"
    ONE_BLOCK = "one_block"  # a sum over one block, or over whole blocks only
    SIGN = "sign"
    STRIDES = "strides"  # right only if an argument's memory is laid out as assumed
    SWAPPED = "swapped"  # another gradient's values
    TRANSPOSED = "transposed"
    UPSTREAM_FIRST = "upstream_first"  # only the first element of grad_output is used
    UPSTREAM_ONES = "upstream_ones"  # right for a grad_output of ones only


@dataclass(frozen=True)
class Mutant:
    """A wrong backward.

    `what` says in one sentence what is wrong. `gradients` names those that it gets wrong; the others are
    honest and must be found right. `diagnosis` is what the mistake looks like from outside, None if it
    looks like nothing in particular. `term` is what is missing, if the diagnosis is MISSING_TERM.
    """

    name: str
    what: str
    backward: Backward
    gradients: tuple[str, ...]
    diagnosis: Diagnosis | None = None
    term: str = ""


def mutants_of(problem: Problem) -> tuple[Mutant, ...]:
    """Every mutant of `problem`: its own and those that any has; none if none are written yet."""
    name = f"problems.{problem.slug}.mutants"
    try:
        found: tuple[Mutant, ...] = import_module(name).MUTANTS
    except ModuleNotFoundError as missing:
        if missing.name != name:
            raise
        return ()
    return found


@dataclass(frozen=True)
class Spoiler:
    """Makes mutants of a problem's plain PyTorch backward by spoiling one thing in it."""

    problem: Problem

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(g.name for g in self.problem.gradients)

    def one(
        self,
        gradient: str,
        name: str,
        what: str,
        wrong: Wrong,
        diagnosis: Diagnosis | None = None,
        term: str = "",
    ) -> Mutant:
        """`wrong(**arguments)`, rounded, stands in for one gradient; the others are right."""
        place = self.names.index(gradient)
        dtype = self.problem.gradients[place].dtype

        def backward(**arguments: torch.Tensor) -> Gradients:
            gradients = list(self.problem.baseline(**arguments))
            gradients[place] = wrong(**arguments).to(dtype)
            return tuple(gradients)

        whole = self.problem.accumulating(backward)
        return Mutant(name, what, whole, (gradient,), diagnosis, term)

    def argument(
        self,
        argument: str,
        name: str,
        what: str,
        change: Callable[[torch.Tensor], torch.Tensor],
        gradients: Sequence[str],
        diagnosis: Diagnosis | None = None,
    ) -> Mutant:
        """The right formula on one changed argument, which spoils `gradients`."""

        def backward(**arguments: torch.Tensor) -> Gradients:
            return self.problem.baseline(**arguments | {argument: change(arguments[argument])})

        return Mutant(name, what, backward, tuple(gradients), diagnosis)

    def results(
        self,
        name: str,
        what: str,
        change: Callable[[torch.Tensor], torch.Tensor],
        gradients: Sequence[str] | None = None,
        diagnosis: Diagnosis | None = None,
    ) -> Mutant:
        """The right gradients, of which `gradients` (None: all) are changed before they are returned."""
        chosen = self.names if gradients is None else tuple(gradients)

        def backward(**arguments: torch.Tensor) -> Gradients:
            found = zip(self.names, self.problem.baseline(**arguments), strict=True)
            return tuple(change(g) if name in chosen else g for name, g in found)

        return Mutant(name, what, self.problem.accumulating(backward), chosen, diagnosis)

    def buffers(self) -> tuple[Mutant, ...]:
        """What can go wrong with gradients that are to be added to a buffer."""
        return tuple(
            mutant
            for spec in self.problem.gradients
            if spec.accumulates
            for mutant in (
                self._buffer(spec, "overwritten", "overwrites its buffer", lambda b, g: g),
                self._buffer(spec, "ignored", "returns its buffer as it came", lambda b, g: b),
                self._buffer(spec, "twice", "is added to its buffer twice", lambda b, g: b + g + g),
                self._buffer(
                    spec, "doubled", "adds its buffer once too often", lambda b, g: b + b + g
                ),
            )
        )

    def _buffer(
        self,
        spec: GradientSpec,
        name: str,
        what: str,
        wrong: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    ) -> Mutant:
        """`wrong(buffer, gradient)` is returned for `spec` in cases that accumulate."""
        place = self.names.index(spec.name)

        def backward(**arguments: torch.Tensor) -> Gradients:
            buffer = arguments.pop(spec.buffer, None)
            gradients = list(self.problem.baseline(**arguments))
            if buffer is not None:
                gradients[place] = wrong(buffer, gradients[place])
            return tuple(gradients)

        return Mutant(
            f"{spec.buffer}_{name}",
            f"{spec.name} {what}.",
            backward,
            (spec.name,),
            Diagnosis.BUFFER,
        )

    def common(self, matrices: Sequence[str] | None = None) -> tuple[Mutant, ...]:
        """What can go wrong with the gradients of any problem.

        `matrices` names the gradients large enough for several blocks of rows and columns (None: all
        that have rows and columns).
        """
        if matrices is None:
            matrices = [g.name for g in self.problem.gradients if len(g.shape) > 1]
        return (
            self.results(
                "zeros",
                "Nothing is computed: the gradients are zeros of the right shapes and dtypes.",
                torch.zeros_like,
                diagnosis=Diagnosis.ALL_ZERO,
            ),
            self.results(
                "second_half_zero",
                "The grid covers half of the rows, the others stay zero.",
                second_half_zero,
                diagnosis=Diagnosis.LAST_BLOCK,
            ),
            self.results(
                "sign",
                "The gradients have the wrong sign.",
                torch.neg,
                diagnosis=Diagnosis.SIGN,
            ),
            self.results(
                "one_wrong_row",
                "The stores of one row in the middle are added to what another program stored there.",
                one_row_doubled,
                matrices,
            ),
            self.results(
                "last_columns_zero",
                f"Columns beyond the last full block of {BLOCK} are never stored.",
                last_columns_zero,
                matrices,
                Diagnosis.LAST_BLOCK,
            ),
            self.results(
                "last_rows_zero",
                f"Rows beyond the last full block of {BLOCK} are never stored.",
                last_rows_zero,
                matrices,
                Diagnosis.LAST_BLOCK,
            ),
            self.results(
                "offsets_wrap",
                "Offsets of stores overflow their integer type, so late elements land on early ones.",
                stored_with_wrapping_offsets,
                matrices,
            ),
            self.results(
                "race",
                "Programs race for the output: now and then an element's update is lost.",
                lose_updates,
            ),
            *(
                self.results(
                    f"{name}_times_1.01",
                    f"{name} is one percent too large.",
                    lambda g: (g.float() * 1.01).to(g.dtype),
                    [name],
                    Diagnosis.CONSTANT_FACTOR,
                )
                for name in self.names
            ),
        )

    def upstream(self) -> tuple[Mutant, ...]:
        """What kernels do wrong with an upstream gradient that has dimensions."""
        given = "grad_output"
        return (
            self.argument(
                given,
                "upstream_ones",
                "The upstream gradient is taken for ones.",
                torch.ones_like,
                self.names,
                Diagnosis.UPSTREAM_ONES,
            ),
            self.argument(
                given,
                "upstream_first",
                "Every element is multiplied by the upstream gradient's first one.",
                lambda g: g[(slice(0, 1),) * g.ndim].expand_as(g),
                self.names,
                Diagnosis.UPSTREAM_FIRST,
            ),
            self.argument(
                given,
                "upstream_strides",
                "The upstream gradient is read from memory in order, whatever its strides are.",
                read_linearly,
                self.names,
                Diagnosis.STRIDES,
            ),
        )


def read_with_strides(tensor: torch.Tensor, strides: Sequence[int]) -> torch.Tensor:
    """What a kernel reads that takes `tensor`'s memory to have other strides; 0 beyond its end."""
    size = tensor.untyped_storage().nbytes() // tensor.dtype.itemsize
    memory = torch.as_strided(tensor, (size,), (1,), 0)
    address = torch.full((), int(tensor.storage_offset()))
    for axis, (length, stride) in enumerate(zip(tensor.shape, strides, strict=True)):
        shape = [1] * tensor.ndim
        shape[axis] = length
        address = address + (torch.arange(length) * stride).reshape(shape)
    return torch.where(address < size, memory[address.clamp(max=size - 1)], 0)


def read_linearly(tensor: torch.Tensor) -> torch.Tensor:
    """What a kernel reads that takes `tensor` to be contiguous."""
    return read_with_strides(tensor, torch.empty(tensor.shape, device="meta").stride())


def stored_with_wrapping_offsets(gradient: torch.Tensor) -> torch.Tensor:
    """`gradient` stored at offsets modulo OFFSET_LIMIT into zeros, in order."""
    flat = gradient.reshape(-1)
    stored = torch.zeros_like(flat)
    for chunk in torch.split(flat, OFFSET_LIMIT):
        stored[: len(chunk)] = chunk
    return stored.reshape(gradient.shape)


def lose_updates(tensor: torch.Tensor) -> torch.Tensor:
    """`tensor` with random elements left zero, at least one; from torch's global generator."""
    kept = torch.rand(tensor.shape) >= LOST_SHARE
    kept.view(-1)[int(torch.randint(kept.numel(), ()))] = False
    return torch.where(kept, tensor, 0)


def second_half_zero(gradient: torch.Tensor) -> torch.Tensor:
    half = torch.arange(len(gradient)) < (len(gradient) + 1) // 2
    return torch.where(half.reshape(-1, *[1] * (gradient.ndim - 1)), gradient, 0)


def one_row_doubled(gradient: torch.Tensor) -> torch.Tensor:
    spoiled = gradient.clone()
    spoiled[len(gradient) // 2] *= 2
    return spoiled


def last_columns_zero(gradient: torch.Tensor) -> torch.Tensor:
    return torch.where(torch.arange(gradient.shape[-1]) < full_blocks(gradient, -1), gradient, 0)


def last_rows_zero(gradient: torch.Tensor) -> torch.Tensor:
    return last_columns_zero(gradient.transpose(0, -1)).transpose(0, -1).contiguous()


def full_blocks(tensor: torch.Tensor, axis: int, block: int = BLOCK) -> int:
    """How much of an axis whole blocks cover; all of it where there is not even one."""
    return tensor.shape[axis] // block * block or tensor.shape[axis]


def next_power_of_two(number: int) -> int:
    return 1 << math.ceil(math.log2(number))


def running_sum(terms: torch.Tensor, dtype: torch.dtype, block: int = 1) -> torch.Tensor:
    """Terms added along dim 0, `block` at a time in float32, the total rounded to `dtype` each time."""
    total = torch.zeros(terms.shape[1:], dtype=dtype)
    for part in torch.split(terms.float(), block):
        total = total + part.sum(dim=0).to(dtype)
    return total


def racing_sum(terms: torch.Tensor) -> torch.Tensor:
    """The sum along dim 0 of blocks of rows that are added up without atomics, so that some are lost."""
    return torch.stack(
        [lose_updates(part.sum(dim=0)) for part in torch.split(terms.float(), BLOCK)]
    ).sum(0)
