"""Where tensors lie in the memory that the judge shares with a session."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from problems import all_problems
from problems.pairs import MOST_TENSORS, Given, most_saved
from problems.spec import Dims, GradientSpec, Problem, Tensors, lengths
from runner.drawing import largest

_ALIGNMENT = 64
# Elements by which a row's storage may be wider than the row, under any layout.
_ROW_SLACK = 64


@dataclass(frozen=True)
class Capacity:
    """Bytes that the shared memories hold. Memory is used only where something was written."""

    inputs: int
    outputs: int

    @classmethod
    def for_any_problem(cls, hardware: str) -> Capacity:
        """Room for the largest call of any problem on `hardware`."""
        shapes = [
            (problem, dims)
            for problem in all_problems()
            for dims in (
                *(largest(c.dims) for c in problem.cases),
                *(b.dims for b in problem.benchmarks.get(hardware, ())),
            )
        ]
        return cls(
            inputs=max(_inputs_size(problem, dims) for problem, dims in shapes),
            outputs=max(_outputs_size(problem, dims) for problem, dims in shapes),
        )


def aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _inputs_size(problem: Problem, dims: Dims) -> int:
    """An upper bound: a case may hand over slices of wider storages, and buffers to add to."""
    specs = (*problem.arguments, *problem.buffers)
    shapes = (lengths(a.shape, dims) for a in specs)
    sizes = (math.prod(shape[:-1]) * (shape[-1] + _ROW_SLACK) if shape else 1 for shape in shapes)
    given = sum(aligned(size * a.dtype.itemsize) for size, a in zip(sizes, specs, strict=True))
    # Who times a pair also hands over y, to learn what that costs.
    return given + saved_room(problem, dims) + (_output_size(problem, dims) if problem.pair else 0)


def _outputs_size(problem: Problem, dims: Dims) -> int:
    gradients = problem.output_bytes(dims) + _ALIGNMENT * len(problem.gradients)
    if problem.pair is None:
        return gradients
    return max(gradients, _output_size(problem, dims) + saved_room(problem, dims))


def _output_size(problem: Problem, dims: Dims) -> int:
    assert problem.pair is not None
    output = problem.pair.output
    return aligned(math.prod(lengths(output.shape, dims)) * output.dtype.itemsize)


def saved_room(problem: Problem, dims: Dims) -> int:
    """Bytes of shared memory for what a pair may save, wherever each tensor begins."""
    return 0 if problem.pair is None else most_saved(problem, dims) + MOST_TENSORS * _ALIGNMENT


def dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def raw_bytes(tensor: torch.Tensor) -> torch.Tensor:
    """The bytes of a tensor's whole storage."""
    return torch.empty(0, dtype=torch.uint8).set_(tensor.untyped_storage())


def flat(given: Given) -> Tensors:
    """The tensors of a call by name, those of a tuple as ``saved[0]``, ``saved[1]``."""
    found: Tensors = {}
    for name, value in given.items():
        if isinstance(value, torch.Tensor):
            found[name] = value
        elif value is not None:
            found |= {f"{name}[{i}]": tensor for i, tensor in enumerate(value)}
    return found


def arrangement(given: Given) -> list[str | list[str] | None]:
    """How a call takes the tensors of `flat`: each by its name there, those of a tuple as a list."""
    return [
        name
        if isinstance(value, torch.Tensor)
        else None
        if value is None
        else [f"{name}[{i}]" for i in range(len(value))]
        for name, value in given.items()
    ]


def layouts_of(arguments: Tensors) -> tuple[list[dict[str, Any]], int]:
    """Where each argument's storage will lie in the shared memory, and the bytes they all need."""
    offset = 0
    layouts = []
    for name, tensor in arguments.items():
        size = tensor.untyped_storage().nbytes()
        layouts.append(
            {
                "name": name,
                "dtype": dtype_name(tensor.dtype),
                "shape": list(tensor.shape),
                "stride": list(tensor.stride()),
                "storage_offset": tensor.storage_offset(),
                "offset": offset,
                "bytes": size,
            }
        )
        offset += aligned(size)
    return layouts, offset


def places_of(
    outputs: Sequence[GradientSpec], dims: Dims, layouts: Sequence[dict[str, Any]] = ()
) -> tuple[list[dict[str, Any]], int]:
    """Where each output will lie in the shared memory of the outputs, and the bytes they all need.

    One that is added to a buffer among the arguments, whose `layouts` these are, has a `buffer` and lies
    where that does, in the memory of the inputs.
    """
    given = {layout["name"]: layout for layout in layouts}
    end = 0
    places = []
    for gradient in outputs:
        shape = lengths(gradient.shape, dims)
        size = torch.Size(shape).numel() * gradient.dtype.itemsize
        buffer = given.get(gradient.buffer)
        places.append(
            {
                "name": gradient.name,
                "dtype": dtype_name(gradient.dtype),
                "shape": list(shape),
                "offset": buffer["offset"] if buffer else end,
                "bytes": size,
                "buffer": buffer["name"] if buffer else None,
            }
        )
        end += 0 if buffer else aligned(size)
    return places, end
