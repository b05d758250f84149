"""Adds up what the launches and PyTorch's own operations of one call of `backward` move and compute.

What PyTorch does between the launches costs time on a GPU like a kernel: each operation reads its
arguments and writes its result once, those that gather touch no more than they gather, and a sort
passes over its keys several times. Views cost nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch
from torch.utils._pytree import tree_iter
from torch.utils.flop_counter import flop_registry

MOST_ENTRIES = 96
SECTOR = 32
LIBRARY = "torch."
# Passes over keys of 64 bits: a radix sort takes 8 bits in each.
_SORT_PASSES = 8
_SORTS = ("sort", "argsort", "topk", "unique", "_unique2", "unique_dim", "unique_consecutive")
_GATHERS = ("index", "index_select", "gather", "take", "embedding", "take_along_dim")
_SCATTERS = ("index_add", "index_put", "scatter", "scatter_add", "index_copy", "_index_put_impl")
_FILLS = ("zero", "fill", "copy", "zeros", "ones", "full", "zeros_like", "ones_like", "full_like")
_FREE = (
    "empty",
    "empty_like",
    "empty_strided",
    "new_empty",
    "new_empty_strided",
    "detach",
    "alias",
)
_TENSOR_DTYPES = {torch.bfloat16: "bf16", torch.float16: "fp16"}


class Entry:
    """One launch: bytes by tensor, FLOPs by kind. A library's has no programs."""

    def __init__(self, name: str, grid: tuple[int, int, int] | None) -> None:
        self.name = name
        self.grid = grid
        self.launches = 1
        self.flops: Counter[str] = Counter()
        self.tensors: dict[str, dict[str, Any]] = {}

    def add_tensor(self, name: str, key: int, size: int) -> dict[str, Any]:
        counts = dict.fromkeys(("loaded", "stored", "sectors", "atomics"), 0)
        self.tensors[name] = {"key": key, "size": size, **counts}
        return self.tensors[name]

    def scale(self, factor: float) -> None:
        """From the programs that ran to all of the grid."""
        for told in self.tensors.values():
            for what in ("loaded", "stored", "sectors", "atomics"):
                told[what] = round(told[what] * factor)
            told["minimum"] = min(told["loaded"], told["size"]) + min(told["stored"], told["size"])
        for kind in self.flops:
            self.flops[kind] = round(self.flops[kind] * factor)

    def merge(self, other: Entry) -> None:
        """Another launch of the same kernel."""
        self.launches += other.launches
        self.flops.update(other.flops)
        for name, told in other.tensors.items():
            if name not in self.tensors:
                self.tensors[name] = dict(told)
                continue
            for what in ("loaded", "stored", "sectors", "atomics", "minimum", "size"):
                self.tensors[name][what] += told[what]

    def told(self) -> dict[str, Any]:
        kept = ("loaded", "stored", "sectors", "atomics", "minimum")
        return {
            "kernel": self.name,
            "grid": list(self.grid or ()),
            "launches": self.launches,
            "flops": dict(self.flops),
            "tensors": {n: {what: t[what] for what in kept} for n, t in self.tensors.items()},
        }


class Tally:
    """All entries of a call, those of one kernel and grid together; and bytes by storage."""

    def __init__(self) -> None:
        self.is_on = False
        self.entries: dict[Any, Entry] = {}
        self.left_out = 0
        self._moved: dict[int, Counter[str]] = {}
        self._alive: dict[int, torch.Tensor] = {}  # a storage that is gone could lend its key

    def key(self, tensor: torch.Tensor) -> int:
        """Of the memory that the tensor lies in."""
        key = int(tensor.untyped_storage()._cdata)
        self._alive.setdefault(key, tensor)
        return key

    def moved(self, tensor: torch.Tensor, what: str) -> int:
        """Bytes "loaded" from, or "stored" to, the memory that `tensor` lies in."""
        return self._moved.get(self.key(tensor), Counter())[what]

    def add(self, entry: Entry) -> None:
        for told in entry.tensors.values():
            counter = self._moved.setdefault(told["key"], Counter())
            counter.update({what: told[what] for what in ("loaded", "stored")})
        at = (entry.name, entry.grid)
        if at in self.entries:
            self.entries[at].merge(entry)
        elif len(self.entries) < MOST_ENTRIES:
            self.entries[at] = entry
        else:
            self.left_out += entry.launches

    def heard(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        """Add an operation of PyTorch's."""
        name = func._schema.name.partition("::")[2].rstrip("_")
        returns = func._schema.returns
        if not self.is_on or func.is_view or name in _FREE or not returns:
            return
        results = [t for t in tree_iter(result) if isinstance(t, torch.Tensor)]
        if not results:
            return
        given = [t for t in tree_iter((args, kwargs)) if isinstance(t, torch.Tensor)]
        entry = Entry(LIBRARY + name, None)
        for number, tensor in enumerate(_read(name, func, given)):
            size = _bytes(tensor)
            if name in _GATHERS and number == 0:
                size = min(size, sum(map(_bytes, results)))
            entry.add_tensor(f"argument {number + 1}", self.key(tensor), size)["loaded"] = size
        for number, tensor in enumerate(results):
            size = _bytes(tensor)
            if name in _SCATTERS:
                size = min(size, 2 * max((_bytes(t) for t in given[1:]), default=0))
            entry.add_tensor(f"result {number + 1}", self.key(tensor), size)["stored"] = size
        self._finish(entry, name, func, args, kwargs, result, given, results)
        self.add(entry)

    def _finish(
        self,
        entry: Entry,
        name: str,
        func: Any,
        args: Any,
        kwargs: Any,
        result: Any,
        given: Sequence[torch.Tensor],
        results: Sequence[torch.Tensor],
    ) -> None:
        for told in entry.tensors.values():
            if name in _SORTS:
                told["loaded"], told["stored"] = (
                    _SORT_PASSES * told[what] for what in ("loaded", "stored")
                )
            told["sectors"] = -(-(told["loaded"] + told["stored"]) // SECTOR)
        entry.scale(1.0)
        if func.overloadpacket in flop_registry:
            kind = _TENSOR_DTYPES.get(given[0].dtype)
            flops = flop_registry[func.overloadpacket](*args, **kwargs, out_val=result)
            entry.flops["tensor_" + kind if kind else "vector"] += int(flops)
        elif name not in _FILLS and name not in _GATHERS:
            entry.flops["vector"] += max(t.numel() for t in (*given, *results))


def _read(name: str, func: Any, given: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
    """The arguments that are read: all but what is only filled, or only partly written."""
    is_in_place = func._schema.is_mutable
    if not is_in_place or name not in (*_FILLS, *_SCATTERS):
        return given
    return given[1:]


def _bytes(tensor: torch.Tensor) -> int:
    """Of the elements, or of the memory they lie in if they share it."""
    size = tensor.numel() * tensor.dtype.itemsize
    return int(min(size, tensor.untyped_storage().nbytes()))
