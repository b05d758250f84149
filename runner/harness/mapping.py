"""Writes down which tiles of each tensor the programs of each launch touch, as triples of numbers.

Unlike the tracer it runs on real tensors, small ones, and runs every program: what a kernel reads
through integers it has read before is then what such values lead to. Lanes outside of a tensor's memory
are taken away and not written down.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import numpy as np
import torch

from . import watched
from .shadow import Array

Grid = tuple[int, int, int]


@dataclass(frozen=True)
class Limits:
    """What is written down at most, as the judge wants it; `side` is that of a grid of tiles."""

    side: int
    launches: int
    programs: int
    maps: int
    lines: int
    runs: int
    seconds: float


class Tiles:
    """A tensor as a kernel got it, seen as a matrix in tiles, and where it lies."""

    def __init__(self, tensor: torch.Tensor, side: int) -> None:
        storage = tensor.untyped_storage()
        self.shape = tuple(tensor.shape)
        self._stride = tensor.stride()
        self._itemsize = tensor.element_size()
        self._start = tensor.data_ptr()
        self._memory = (storage.data_ptr(), storage.data_ptr() + storage.nbytes())
        rows = math.prod(self.shape[:-1])
        columns = self.shape[-1] if self.shape else 1
        self._height = max(-(-rows // side), 1)
        self._width = max(-(-columns // side), 1)
        self._across = -(-columns // self._width)
        self.count = -(-rows // self._height) * self._across

    def within(self, addresses: Array, mask: Array, itemsize: int) -> Array:
        """The lanes of `mask` that lie in the tensor's memory."""
        begin, end = self._memory
        allowed: Array = mask & (addresses >= begin) & (addresses + itemsize <= end)
        return allowed

    def of(self, addresses: Array) -> Array:
        """The tiles that hold these addresses; those of no element are left out."""
        rest = (addresses.astype(np.int64) - self._start) // self._itemsize
        place = [np.zeros_like(rest)] * len(self.shape)
        inside = rest >= 0
        for d in sorted(range(len(self.shape)), key=lambda d: -self._stride[d]):
            if self._stride[d] > 0:
                place[d] = np.minimum(rest // self._stride[d], self.shape[d] - 1)
                rest = rest - place[d] * self._stride[d]
        inside &= rest == 0
        row = np.zeros_like(rest)
        for d in range(len(self.shape) - 1):
            row = row * self.shape[d] + place[d]
        column = place[-1] if place else row
        tiles = row // self._height * self._across + column // self._width
        return np.unique(tiles[inside])


@dataclass
class _Map:
    """One tensor touched in one way: tiles of the program under way, runs of those before."""

    tiles: Tiles
    lines: set[int] = field(default_factory=set)
    now: Array | None = None
    runs: list[int] = field(default_factory=list)

    def touch(self, addresses: Array) -> None:
        if self.now is None:
            self.now = np.zeros(self.tiles.count, dtype=bool)
        self.now[self.tiles.of(addresses)] = True

    def end_program(self, program: int) -> int:
        """Turn what it touched into runs; how many."""
        if self.now is None:
            return 0
        edges = np.flatnonzero(np.diff(self.now.astype(np.int8), prepend=0, append=0))
        self.now = None
        for first, end in edges.reshape(-1, 2).tolist():
            self.runs += (program, first, end - first)
        return len(edges) // 2


@dataclass
class _Launch:
    kernel: str
    grid: Grid
    tensors: dict[str, Tiles]
    maps: dict[tuple[str, str], _Map] = field(default_factory=dict)
    mapped: int = 0

    def told(self) -> dict[str, Any]:
        return {
            "kernel": self.kernel,
            "grid": list(self.grid),
            "mapped": self.mapped,
            "maps": [
                {
                    "tensor": tensor,
                    "op": op,
                    "shape": list(one.tiles.shape),
                    "lines": sorted(one.lines),
                    "runs": one.runs,
                }
                for (tensor, op), one in self.maps.items()
                if one.runs
            ],
        }


class Mapper:
    """A watcher (`watched.Watcher`) that writes down tiles, until one of its limits is reached."""

    def __init__(self, path: str, limits: Limits) -> None:
        self._path = path
        self._limits = limits
        self._end = time.monotonic() + limits.seconds
        self._left = limits.runs
        self._launch = _Launch("", (1, 1, 1), {})
        self.launches: list[_Launch] = []
        self.left_out = 0

    def told(self) -> dict[str, Any]:
        """As the judge reads it."""
        launches = [launch.told() for launch in self.launches]
        return {"launches": launches, "left_out": self.left_out}

    # what the executor asks

    def arguments(self, bound: dict[str, Any]) -> dict[str, Any]:
        return bound

    def begin_launch(self, kernel: str, tensors: dict[str, Any], grid: Grid) -> None:
        seen = {
            name: Tiles(tensor, self._limits.side)
            for name, tensor in tensors.items()
            if isinstance(tensor, torch.Tensor) and tensor.numel()
        }
        self._launch = _Launch(kernel, grid, seen)
        if len(self.launches) < self._limits.launches:
            self.launches.append(self._launch)
        else:
            self.left_out += 1

    def programs(self, grid: Grid) -> Iterator[tuple[int, ...]]:
        """All of them, in the order of a GPU, while there is time and room. Those of a launch that is
        not kept run as well: what follows may read what they write."""
        launch = self._launch
        for number in range(math.prod(grid)):
            if time.monotonic() > self._end:
                return
            yield number % grid[0], number // grid[0] % grid[1], number // (grid[0] * grid[1])
            self._end_program(launch, number)

    def begin_program(self, program: tuple[int, ...]) -> None:
        """Told apart by their order."""

    def load(self, name: str | None, addresses: Array, mask: Array, itemsize: int) -> Array:
        return self._touch("load", name, addresses, mask, itemsize)

    def store(
        self, name: str | None, addresses: Array, mask: Array, _: Array, itemsize: int
    ) -> Array:
        return self._touch("store", name, addresses, mask, itemsize)

    def change(
        self, name: str | None, addresses: Array, mask: Array, itemsize: int, **_: bool
    ) -> Array:
        return self._touch("atomic", name, addresses, mask, itemsize)

    # writing down

    def _touch(
        self, op: str, name: str | None, addresses: Array, mask: Array, itemsize: int
    ) -> Array:
        tiles = self._launch.tensors.get(name or "")
        if tiles is None:
            return np.zeros_like(mask)
        allowed = tiles.within(addresses, mask, itemsize)
        one = self._map(name or "", op, tiles)
        if one is not None and allowed.any():
            one.touch(addresses[allowed])
            if len(one.lines) < self._limits.lines - 1:
                one.lines |= self._lines()
        return allowed

    def _map(self, name: str, op: str, tiles: Tiles) -> _Map | None:
        maps = self._launch.maps
        if (name, op) not in maps and len(maps) < self._limits.maps:
            maps[name, op] = _Map(tiles)
        return maps.get((name, op))

    def _end_program(self, launch: _Launch, number: int) -> None:
        """Keep the program, if those before it were kept and there is room for all it touched."""
        if number != launch.mapped or number >= self._limits.programs or self._left < 0:
            for one in launch.maps.values():
                one.now = None
            return
        before = {key: len(one.runs) for key, one in launch.maps.items()}
        self._left -= sum(one.end_program(number) for one in launch.maps.values())
        if self._left < 0:
            for key, one in launch.maps.items():
                del one.runs[before[key] :]
            return
        launch.mapped += 1

    def _lines(self) -> set[int]:
        """Where the access is written: in the kernel, and in what the kernel called for it."""
        found: list[int] = []
        frame: FrameType | None = sys._getframe(2)
        while frame is not None and frame.f_code is not watched._run.__code__:
            if frame.f_code.co_filename == self._path:
                found.append(frame.f_lineno)
            frame = frame.f_back
        return {found[0], found[-1]} if found else set()
