"""Runs some programs of a launch at its full size, on tensors that have addresses and no memory.

Floating values are neither read nor written: loads give what masked lanes give, stores are dropped.
Integers whose values are known (`imagined`) are in memory, so that what is read and written through them
is what would be. What the sampled programs do is scaled to the grid.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from types import FrameType
from typing import Any

import numpy as np
import torch
from torch._subclasses.fake_tensor import FakeTensor
from triton.tools.tensor_descriptor import TensorDescriptor

from .counting import Counts, counting
from .shadow import Array
from .tally import Entry, Tally

# Programs of a launch that run: the first so many if they do alike, else up to the second, as long as
# there is time.
SAMPLES = 7
LEAST_SAMPLES = 4  # however long they take
MOST_SAMPLES = 128
# Of a kernel whose programs did alike in an earlier launch with the same grid.
SAMPLES_AGAIN = 1
SECONDS_A_LAUNCH = 10.0
SECONDS = 60.0
SECTOR = 32
_SPACING = 1 << 20
_GOLDEN = (5**0.5 - 1) / 2
# Where the first one is: if work grows or falls along the grid, or along each half, it has neither the
# most nor the least.
_FIRST = 0.25


def _drawn(total: int) -> Iterator[int]:
    """Programs of `total`, the same for the same total: all of few, else multiples of the golden ratio,
    of which any number from the first on is spread evenly, whatever period the work has."""
    if total <= MOST_SAMPLES:
        yield from sorted(range(total), key=lambda i: (_FIRST + i * _GOLDEN) % 1.0)
        return
    for i in range(MOST_SAMPLES):
        yield int((_FIRST + i * _GOLDEN) % 1.0 * total)


class PhantomTensor:
    """A tensor's dtype, shape and place, for a kernel that computes addresses. `tensor` where it has
    values."""

    def __init__(self, tensor: torch.Tensor, key: int, address: int) -> None:
        self.dtype = tensor.dtype
        self.shape = tuple(tensor.shape)
        self.nbytes = tensor.numel() * tensor.dtype.itemsize
        self.key = key
        self.values: Array | None = None
        self.address = address + int(tensor.storage_offset()) * tensor.dtype.itemsize
        if not isinstance(tensor, FakeTensor):
            self.address = tensor.data_ptr()
            self.values = tensor.flatten().numpy() if tensor.is_contiguous() else np.zeros(0)

    def data_ptr(self) -> int:
        return self.address

    def inside(self, addresses: Array, mask: Array, itemsize: int) -> Array:
        """Which lanes may touch memory: of a tensor without values none, else those within it."""
        if self.values is None or self.values.size == 0:
            return np.zeros_like(mask)
        last = self.address + self.values.nbytes - itemsize
        allowed: Array = mask & (addresses >= self.address) & (addresses <= last)
        return allowed


class _Launch:
    """What the programs of one launch did so far."""

    def __init__(self, entry: Entry, tensors: dict[str, PhantomTensor], programs: int) -> None:
        self.entry = entry
        self.tensors = tensors
        self.programs = programs
        self.sampled = 0
        self.signatures: set[tuple[int, ...]] = set()
        self.written: dict[str, list[Array]] = {}

    @property
    def least(self) -> int:
        """Programs that must do alike to be taken for all; integers may make a few do more."""
        return SAMPLES * (1 + 2 * any(t.values is not None for t in self.tensors.values()))

    def signature(self) -> tuple[int, ...]:
        moved = [
            (t["loaded"], t["stored"], t["sectors"]) for _, t in sorted(self.entry.tensors.items())
        ]
        return (*np.ravel(moved).tolist(), *self.entry.flops.values())


class Phantom:
    """A watcher (`watched.Watcher`) that lets nothing but known integers be touched and adds up what
    would be."""

    def __init__(self, path: str, tally: Tally) -> None:
        self._path = path
        self._tally = tally
        self._next = 1 << 40
        self._bases: dict[int, int] = {}
        self._launch = _Launch(Entry("", (1, 1, 1)), {}, 1)
        self._counted = False
        self._alike: set[Any] = set()
        self._end = time.monotonic() + SECONDS
        self.wrapped_lines: dict[int, str] = {}

    # what the executor asks

    def arguments(self, bound: dict[str, Any]) -> dict[str, Any]:
        """The arguments, tensors replaced by phantoms, also those of descriptors and tuples."""
        return {name: self._replaced(value) for name, value in bound.items()}

    def begin_launch(
        self, kernel: str, tensors: dict[str, Any], grid: tuple[int, int, int]
    ) -> None:
        entry = Entry(kernel, grid)
        for name, tensor in tensors.items():
            entry.add_tensor(name, tensor.key, tensor.nbytes)
        self._launch = _Launch(entry, tensors, int(np.prod(grid)))

    def programs(self, grid: tuple[int, int, int]) -> Iterator[tuple[int, ...]]:
        """Some, as long as they differ and there is time; then the last one, where offsets are largest,
        which is not counted: it is often not full."""
        launch, total = self._launch, self._launch.programs
        now = time.monotonic()
        end = now + min(SECONDS_A_LAUNCH, max(self._end - now, 0.0) / 3)
        counts = Counts(self._wrapped)
        counts.flops = launch.entry.flops
        before = launch.signature()
        is_known = self._shape() in self._alike
        enough = SAMPLES_AGAIN if is_known else launch.least
        self._counted = True
        for program in _drawn(total):
            is_alike = len(launch.signatures) == 1
            if launch.sampled >= enough and is_alike and total > SAMPLES:
                break
            needed = min(enough, LEAST_SAMPLES)
            if launch.sampled >= needed and time.monotonic() > end:
                break
            with counting(counts):
                yield tuple(int(i) for i in np.unravel_index(program, grid))
            launch.sampled += 1
            after = launch.signature()
            launch.signatures.add(_difference(before, after))
            before = after
        self._counted = False
        if launch.sampled < total and not is_known:
            with counting(Counts(self._wrapped)):
                yield tuple(n - 1 for n in grid)
        self._end_launch()

    def begin_program(self, program: tuple[int, ...]) -> None:
        """Programs are added up, not told apart."""

    def load(self, name: str | None, addresses: Array, mask: Array, itemsize: int) -> Array:
        return self._touch(name, "loaded", addresses, mask, itemsize)

    def store(
        self, name: str | None, addresses: Array, mask: Array, values: Array, itemsize: int
    ) -> Array:
        allowed = self._touch(name, "stored", addresses, mask, itemsize)
        if name in self._launch.tensors and allowed.any():
            self._launch.written.setdefault(name, []).append(values[allowed])
        return allowed

    def change(
        self, name: str | None, addresses: Array, mask: Array, itemsize: int, **_: bool
    ) -> Array:
        allowed = self._touch(name, "stored", addresses, mask, itemsize)
        if self._counted and name in self._launch.tensors:
            self._launch.entry.tensors[name]["atomics"] += int(mask.sum())
        return allowed

    # adding up

    def _touch(
        self, name: str | None, what: str, addresses: Array, mask: Array, itemsize: int
    ) -> Array:
        if name not in self._launch.tensors:
            return np.zeros_like(mask)
        if self._counted:
            at = addresses[mask]
            told = self._launch.entry.tensors[name]
            told[what] += at.size * itemsize
            told["sectors"] += int(np.unique(at // SECTOR).size)
        return self._launch.tensors[name].inside(addresses, mask, itemsize)

    def _end_launch(self) -> None:
        launch = self._launch
        if len(launch.signatures) == 1:
            self._alike.add(self._shape())
        scale = launch.programs / max(launch.sampled, 1)
        for name, written in launch.written.items():
            _spread(launch.tensors[name].values, np.concatenate(written), scale)
        launch.entry.scale(scale)
        self._tally.add(launch.entry)

    def _shape(self) -> Any:
        tensors = tuple(t.shape for t in self._launch.tensors.values())
        return self._launch.entry.name, self._launch.entry.grid, tensors

    def _replaced(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return self._phantom(value)
        if isinstance(value, TensorDescriptor):
            return replace(value, base=self._phantom(value.base))
        if type(value) in (tuple, list):
            return type(value)(self._replaced(each) for each in value)
        return value

    def _phantom(self, tensor: torch.Tensor) -> PhantomTensor:
        key = self._tally.key(tensor)
        if key not in self._bases:
            self._bases[key] = self._next
            size = tensor.untyped_storage().nbytes()
            self._next += -(-size // _SPACING) * _SPACING + _SPACING
        return PhantomTensor(tensor, key, self._bases[key])

    def _wrapped(self) -> None:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename != self._path:
            frame = frame.f_back
        if frame is not None:
            self.wrapped_lines.setdefault(frame.f_lineno, self._launch.entry.name)


def _difference(before: tuple[int, ...], after: tuple[int, ...]) -> tuple[int, ...]:
    """What was added; kinds of FLOPs that are new come last."""
    padded = before + (0,) * (len(after) - len(before))
    return tuple(b - a for a, b in zip(padded, after, strict=True))


def _spread(values: Array | None, written: Array, scale: float) -> None:
    """Integers that programs stored which did not run: the same ones, in places by chance, in as many
    as all programs together would have stored them in."""
    if values is None or not values.size or scale <= 1.0:
        return
    chance = np.random.default_rng(0)
    share = min(written.size * scale / values.size, 1.0)
    places = np.flatnonzero(chance.random(values.size) < share)
    values[places] = chance.choice(written, places.size).astype(values.dtype)
