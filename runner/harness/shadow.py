"""What is known about each memory that a submission's kernels can reach: which of its elements were ever
written, and who touched them last in the launch under way.

An *element* is one of the tensor that owns the memory. A *program* is one instance of a kernel, numbered
in the order of the grid; -1 is none of this launch.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

Array = np.ndarray[Any, Any]
NOBODY = -1
MANY = -2


@dataclass
class Memory:
    """One storage. `written` is None while all of it is known to hold values."""

    start: int
    size: int
    itemsize: int
    written: Array | None = None
    writer: Array | None = None  # who stored or atomically changed an element last in this launch
    atomic: Array | None = None  # whether that was an atomic operation
    reader: Array | None = None  # who loaded it in this launch: a program, NOBODY or MANY

    @property
    def elements(self) -> int:
        return self.size // self.itemsize

    def begin_launch(self) -> None:
        self.writer = self.atomic = self.reader = None

    def track(self) -> tuple[Array, Array, Array]:
        """The three arrays of this launch, made when first needed."""
        if self.writer is None or self.atomic is None or self.reader is None:
            self.writer = np.full(self.elements, NOBODY, dtype=np.int32)
            self.reader = np.full(self.elements, NOBODY, dtype=np.int32)
            self.atomic = np.zeros(self.elements, dtype=bool)
        return self.writer, self.atomic, self.reader


@dataclass(frozen=True)
class View:
    """A tensor as a kernel got it: its name there, and where its elements lie in a memory."""

    name: str
    memory: Memory
    address: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    itemsize: int

    def index(self, address: int) -> tuple[int, ...]:
        """The place of an address: an index in each dimension if it is one of the tensor's elements,
        else the offset from the first, in elements."""
        offset = (address - self.address) // self.itemsize
        rest, found = offset, []
        order = sorted(range(len(self.shape)), key=lambda d: -self.stride[d])
        place = [0] * len(self.shape)
        for d in order:
            if self.stride[d] > 0:
                place[d] = min(rest // self.stride[d], self.shape[d] - 1) if rest >= 0 else 0
                rest -= place[d] * self.stride[d]
        found = place if rest == 0 else [offset]
        return tuple(int(i) for i in found)


@dataclass
class Memories:
    """Every storage met in one call of `backward`, kept alive so that no address is used twice."""

    by_start: dict[int, Memory] = field(default_factory=dict)
    alive: list[torch.Tensor] = field(default_factory=list)

    def of(self, tensor: torch.Tensor) -> Memory:
        """The memory of a tensor; one never met before holds values everywhere."""
        storage = tensor.untyped_storage()
        start = storage.data_ptr()
        if start not in self.by_start:
            self.by_start[start] = Memory(start, storage.nbytes(), tensor.element_size())
            self.alive.append(tensor)
        return self.by_start[start]

    def fresh(self, tensor: torch.Tensor) -> None:
        """`tensor` was just allocated and holds nothing."""
        memory = self.of(tensor)
        if memory.elements:
            memory.written = np.zeros(memory.elements, dtype=bool)

    def wrote(self, tensor: torch.Tensor) -> None:
        """PyTorch wrote all of `tensor`."""
        memory = self.of(tensor)
        if memory.written is not None and tensor.numel():
            memory.written[elements_of(tensor, memory)] = True
            if memory.written.all():
                memory.written = None

    def unwritten(self, tensor: torch.Tensor) -> Array:
        """Indices (flat, in the order of the tensor) of elements that nobody wrote."""
        memory = self.of(tensor)
        if memory.written is None or not tensor.numel():
            return np.empty(0, dtype=np.int64)
        return np.flatnonzero(~memory.written[elements_of(tensor, memory)])


def elements_of(tensor: torch.Tensor, memory: Memory) -> Array:
    """Where each element of `tensor` lies in its memory, in elements of that memory, flat."""
    begin = (tensor.data_ptr() - memory.start) // memory.itemsize
    offsets = np.zeros((1,) * max(tensor.dim(), 1), dtype=np.int64)
    scale = tensor.element_size() / memory.itemsize
    for d, (size, stride) in enumerate(zip(tensor.shape, tensor.stride(), strict=True)):
        shape = [1] * tensor.dim()
        shape[d] = size
        offsets = offsets + (np.arange(size) * stride * scale).astype(np.int64).reshape(shape)
    return np.asarray((begin + offsets).reshape(-1))
