"""Runs some programs of a launch at its full size, on tensors that have addresses and no memory.

Nothing is read or written: loads give what masked lanes give, stores are dropped. What remains is what
the kernel would move and compute, which for most kernels does not depend on values; of kernels whose
loops do, it is what they do on zeros.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from types import FrameType
from typing import Any

import numpy as np
import torch

from .counting import Counts, counting
from .shadow import Array

SAMPLES = 7
SECONDS_A_LAUNCH = 6.0
MOST_LAUNCHES = 64
SECTOR = 32
_SPACING = 1 << 20


def _stratified(total: int) -> list[int]:
    """At most SAMPLES of `total` programs, the same for the same total: all if there are few."""
    if total <= SAMPLES:
        return list(range(total))
    edges = [total * i // SAMPLES for i in range(SAMPLES + 1)]
    chance = random.Random(total)  # noqa: S311 - samples of a grid, no secret
    return [chance.randrange(a, b) for a, b in pairwise(edges)]


def _uncounted(launch: dict[str, Any]) -> dict[str, Any]:
    """The same launch to add to in vain."""
    return {**launch, "tensors": {name: dict(told) for name, told in launch["tensors"].items()}}


class PhantomTensor:
    """A tensor's dtype, shape and place, for a kernel that only computes addresses."""

    def __init__(self, tensor: torch.Tensor, address: int) -> None:
        self.dtype = tensor.dtype
        self.shape = tuple(tensor.shape)
        self.nbytes = tensor.numel() * tensor.dtype.itemsize
        self._address = address + int(tensor.storage_offset()) * tensor.dtype.itemsize

    def data_ptr(self) -> int:
        return self._address


class Phantom:
    """A watcher (`watched.Watcher`) that lets nothing touch memory and adds up what would have."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._next = 1 << 40
        self._bases: dict[int, int] = {}
        self._alive: list[torch.Tensor] = []
        self._launch: dict[str, Any] = {}
        self.launches: list[dict[str, Any]] = []
        self.wrapped_lines: dict[int, str] = {}

    # what the executor asks

    def arguments(self, bound: dict[str, Any]) -> dict[str, Any]:
        """The arguments, tensors replaced by phantoms."""
        return {
            name: self._phantom(value) if isinstance(value, torch.Tensor) else value
            for name, value in bound.items()
        }

    def begin_launch(
        self, kernel: str, tensors: dict[str, Any], grid: tuple[int, int, int]
    ) -> None:
        self._launch = {
            "kernel": kernel,
            "grid": list(grid),
            "programs": int(np.prod(grid)),
            "sampled": 0,
            "flops": Counts(self._wrapped).flops,
            "tensors": {
                name: {
                    "size": tensor.nbytes,
                    "loaded": 0,
                    "stored": 0,
                    "sectors": 0,
                    "atomics": 0,
                }
                for name, tensor in tensors.items()
            },
        }
        if len(self.launches) < MOST_LAUNCHES:
            self.launches.append(self._launch)

    def programs(self, grid: tuple[int, int, int]) -> Iterator[tuple[int, ...]]:
        """Some, drawn from equal parts of the grid, as long as there is time; then the last one, where
        offsets are largest, which is not counted: it is often not full."""
        total = int(np.prod(grid))
        end = time.monotonic() + SECONDS_A_LAUNCH
        counts = Counts(self._wrapped)
        counts.flops = self._launch["flops"]
        for program in _stratified(total):
            if time.monotonic() > end and self._launch["sampled"]:
                break
            with counting(counts):
                yield tuple(int(i) for i in np.unravel_index(program, grid))
            self._launch["sampled"] += 1
        if total > SAMPLES:
            self._launch, kept = _uncounted(self._launch), self._launch
            with counting(Counts(self._wrapped)):
                yield tuple(n - 1 for n in grid)
            self._launch = kept

    def begin_program(self, program: tuple[int, ...]) -> None:
        """Programs are added up, not told apart."""

    def load(self, name: str | None, addresses: Array, mask: Array, itemsize: int) -> Array:
        self._count(name, "loaded", addresses, mask, itemsize)
        return np.zeros_like(mask)

    def store(
        self, name: str | None, addresses: Array, mask: Array, _: Array, itemsize: int
    ) -> Array:
        self._count(name, "stored", addresses, mask, itemsize)
        return np.zeros_like(mask)

    def change(
        self, name: str | None, addresses: Array, mask: Array, itemsize: int, **_: bool
    ) -> Array:
        self._count(name, "stored", addresses, mask, itemsize)
        if name in self._launch["tensors"]:
            self._launch["tensors"][name]["atomics"] += int(mask.sum())
        return np.zeros_like(mask)

    # adding up

    def _count(
        self, name: str | None, what: str, addresses: Array, mask: Array, itemsize: int
    ) -> None:
        if name not in self._launch["tensors"]:
            return
        at = addresses[mask]
        told = self._launch["tensors"][name]
        told[what] += at.size * itemsize
        told["sectors"] += int(np.unique(at // SECTOR).size)

    def _phantom(self, tensor: torch.Tensor) -> PhantomTensor:
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key not in self._bases:
            self._bases[key] = self._next
            self._alive.append(tensor)
            self._next += -(-storage.nbytes() // _SPACING) * _SPACING + _SPACING
        return PhantomTensor(tensor, self._bases[key])

    def _wrapped(self) -> None:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename != self._path:
            frame = frame.f_back
        if frame is not None:
            self.wrapped_lines.setdefault(frame.f_lineno, self._launch["kernel"])
