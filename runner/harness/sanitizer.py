"""Watches a submission's kernels in the interpreter and tells what a GPU would not forgive.

Found are: accesses outside of a tensor; reads of memory that nobody wrote; gradients not written
everywhere; two programs that touch one element where at least one writes it and not both are atomic; two
lanes of one store that write different values to one element. Programs of a launch run in any order on a
GPU; the interpreter runs them one after the other, so that whatever one leaves for another is seen.

A program that *uses* what an atomic operation returned may have learnt that others are done (a ticket, a
lock): from then on its plain accesses are not called races.

The idea of shadow memory is that of Valgrind (Nethercote and Seward, *How to shadow every byte of memory
used by a program*, 2007); of racecheck and initcheck, NVIDIA's Compute Sanitizer.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from types import FrameType
from typing import Any

import numpy as np
import torch

from .lanes import Access, bits, current, quarrels
from .shadow import MANY, NOBODY, Array, Memories, View
from .watching_torch import WatchTorch

MOST_FINDINGS = 20
_ATOMICS = ("atomic_add", "atomic_max", "atomic_min", "atomic_and", "atomic_or", "atomic_xor")


@dataclass
class Finding:
    """One fault, at one line; `count` is how many elements it concerns in all."""

    kind: str
    message: str
    line: int
    kernel: str = ""
    tensor: str = ""
    index: tuple[int, ...] = ()
    program: tuple[int, ...] = ()
    count: int = 1


class Sanitizer:
    """State of one call of `backward`."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._memories = Memories()
        self._found: dict[tuple[Any, ...], Finding] = {}
        self._views: dict[str, View] = {}
        self._kernel = ""
        self._grid = (1, 1, 1)
        self._program = 0
        self._ordered = False
        self._bare = _lines_of_bare_atomics(path)

    # the whole call

    @contextmanager
    def watching(self, arguments: Sequence[torch.Tensor | None]) -> Iterator[None]:
        """Watch PyTorch too, for the time of the block."""
        for tensor in arguments:
            if tensor is not None:
                self._memories.of(tensor)
        with WatchTorch(self._memories, self._torch_read):
            yield

    def check_outputs(self, outputs: Any, names: Sequence[str]) -> None:
        """Look for gradients that were returned without having been written everywhere."""
        for name, tensor in zip(names, outputs, strict=False):
            if not isinstance(tensor, torch.Tensor) or tensor.layout is not torch.strided:
                continue
            missing = self._memories.unwritten(tensor)
            if len(missing):
                index = tuple(int(i) for i in np.unravel_index(missing[0], tensor.shape))
                self._add(
                    Finding(
                        "unwritten_output",
                        f"{len(missing)} of {tensor.numel()} elements of {name} are returned without "
                        f"ever having been written; the first is {name}{list(index)}",
                        0,
                        tensor=name,
                        index=index,
                        count=len(missing),
                    )
                )

    def findings(self) -> list[dict[str, Any]]:
        """What was found, in the order of its appearance, at most MOST_FINDINGS."""
        return [asdict(f) for f in list(self._found.values())[:MOST_FINDINGS]]

    def _torch_read(self, operation: str, tensor: torch.Tensor, missing: int) -> None:
        line = self._line()
        self._add(
            Finding(
                "uninitialized_read",
                f"PyTorch's {operation} reads {missing} of {tensor.numel()} elements that nobody wrote",
                line,
                count=missing,
            )
        )

    # one launch, called by the executor

    def arguments(self, bound: dict[str, Any]) -> dict[str, Any]:
        """As they are: kernels run on real memory."""
        return bound

    def programs(self, grid: tuple[int, int, int]) -> Iterable[tuple[int, ...]]:
        """All, in order."""
        return np.ndindex(*grid)

    def begin_launch(
        self, kernel: str, tensors: dict[str, torch.Tensor], grid: tuple[int, int, int]
    ) -> None:
        self._kernel, self._grid = kernel, grid
        self._views = {}
        for name, tensor in tensors.items():
            memory = self._memories.of(tensor)
            memory.begin_launch()
            self._views[name] = View(
                name=name,
                memory=memory,
                address=tensor.data_ptr(),
                shape=tuple(tensor.shape),
                stride=tuple(tensor.stride()),
                itemsize=tensor.element_size(),
            )

    def begin_program(self, program: tuple[int, ...]) -> None:
        x, y, z = program
        self._program = (x * self._grid[1] + y) * self._grid[2] + z
        self._ordered = False

    # one access: each returns the lanes that may go on

    def load(self, name: str | None, addresses: Array, mask: Array, itemsize: int) -> Array:
        """Returns `mask` without the lanes that would read outside of the tensor."""
        access, inside = self._access("load", name, addresses, mask, itemsize)
        if access is None:
            return inside
        memory = access.view.memory
        if memory.written is not None:
            self._tell(
                access, ~memory.written[access.elements], "uninitialized_read", _UNINITIALIZED
            )
        writer, _, reader = memory.track()
        if not self._ordered:
            others = writer[access.elements]
            self._tell(
                access,
                (others != NOBODY) & (others != self._program),
                "race",
                self._read_race,
                others,
            )
        seen = reader[access.elements]
        first = seen == NOBODY
        reader[access.elements] = np.where(first | (seen == self._program), self._program, MANY)
        return inside

    def store(
        self, name: str | None, addresses: Array, mask: Array, values: Array, itemsize: int
    ) -> Array:
        """Returns `mask` without the lanes that would write outside of the tensor. `values` are the
        block's, as they will lie in memory."""
        access, inside = self._access("store", name, addresses, mask, itemsize)
        if access is None:
            return inside
        memory = access.view.memory
        writer, atomic, reader = memory.track()
        written = values.reshape(-1)[access.lanes]
        self._tell(access, quarrels(access.elements, written), "race", _SAME_STORE)
        if not self._ordered:
            others = writer[access.elements]
            foreign = (others != NOBODY) & (others != self._program)
            if foreign.any():
                foreign &= atomic[access.elements] | (current(access, written) != bits(written))
                self._tell(access, foreign, "race", self._write_race, others)
            readers = reader[access.elements]
            foreign = (readers == MANY) | ((readers != NOBODY) & (readers != self._program))
            if foreign.any():
                foreign &= current(access, written) != bits(written)
                self._tell(access, foreign, "race", self._overwrite_race, readers)
        writer[access.elements] = self._program
        atomic[access.elements] = False
        self._mark_written(access)
        return inside

    def change(
        self, name: str | None, addresses: Array, mask: Array, itemsize: int, *, reads: bool = True
    ) -> Array:
        """An atomic read-modify-write, or write (not `reads`). Returns `mask` without the lanes outside
        of the tensor."""
        access, inside = self._access("atomic", name, addresses, mask, itemsize)
        if access is None:
            return inside
        memory = access.view.memory
        if reads and memory.written is not None:
            self._tell(
                access, ~memory.written[access.elements], "uninitialized_read", _UNINITIALIZED
            )
        writer, atomic, _ = memory.track()
        others = writer[access.elements]
        if not self._ordered:
            foreign = (others != NOBODY) & (others != self._program) & ~atomic[access.elements]
            self._tell(access, foreign, "race", self._write_race, others)
        writer[access.elements] = self._program
        atomic[access.elements] = True
        self._mark_written(access)
        if access.line not in self._bare:
            self._ordered = True
        return inside

    def _access(
        self, op: str, name: str | None, addresses: Array, mask: Array, itemsize: int
    ) -> tuple[Access | None, Array]:
        active = np.flatnonzero(mask.reshape(-1))
        if not len(active):
            return None, mask
        at = addresses.reshape(-1)[active].astype(np.int64)
        view = self._views.get(name or "") or self._nearest(int(at[0]))
        if view is None:
            return None, mask
        memory = view.memory
        outside = (at < memory.start) | (at + itemsize > memory.start + memory.size)
        line = self._line()
        if outside.any():
            self._tell_outside(op, view, at[outside], line, bool(mask.all()), mask.size)
            mask = mask.copy()
            mask.reshape(-1)[active[outside]] = False
            active, at = active[~outside], at[~outside]
        elements = (at - memory.start) // memory.itemsize
        return (Access(view, at, elements, active, line) if len(active) else None), mask

    def _nearest(self, address: int) -> View | None:
        """Whose address this is, when that was lost on the way: the tensor it lies in, or closest to."""
        views = self._views.values()

        def distance(view: View) -> int:
            end = view.memory.start + view.memory.size
            return max(view.memory.start - address, address - end + 1, 0)

        return min(views, key=distance, default=None)

    def _mark_written(self, access: Access) -> None:
        if access.view.memory.written is not None:
            access.view.memory.written[access.elements] = True

    # telling

    def _tell_outside(
        self, op: str, view: View, at: Array, line: int, all_active: bool, lanes: int
    ) -> None:
        index = view.index(int(at[0]))
        done = {"load": "reads", "store": "writes", "atomic": "changes"}[op]
        hint = "; its mask hides nothing" if all_active and lanes > 1 else ""
        self._add(
            Finding(
                "out_of_bounds",
                f"{done} outside of {view.name} {list(view.shape)}, at {view.name}{list(index)}{hint}",
                line,
                tensor=view.name,
                index=index,
                count=len(at),
            )
        )

    def _tell(
        self,
        access: Access,
        wrong: Array,
        kind: str,
        words: Callable[..., str] | str,
        others: Array | None = None,
    ) -> None:
        where = np.flatnonzero(wrong)
        if not len(where):
            return
        first = where[0]
        index = access.view.index(int(access.addresses[first]))
        place = f"{access.view.name}{list(index)}"
        if callable(words):
            message = words(place, int(others[first]) if others is not None else NOBODY)
        else:
            message = words.format(place=place)
        self._add(
            Finding(
                kind,
                message,
                access.line,
                tensor=access.view.name,
                index=index,
                count=len(where),
            )
        )

    def _read_race(self, place: str, other: int) -> str:
        return (
            f"program {self._named(self._program)} reads {place}, which program {self._named(other)} of "
            "the same launch writes: on a GPU it may run first"
        )

    def _write_race(self, place: str, other: int) -> str:
        return (
            f"programs {self._named(other)} and {self._named(self._program)} both write {place}, not "
            "both atomically: on a GPU one of the two is lost"
        )

    def _overwrite_race(self, place: str, other: int) -> str:
        who = "others" if other == MANY else f"program {self._named(other)}"
        return (
            f"program {self._named(self._program)} writes {place}, which {who} of the same launch read: "
            "on a GPU they may read either value"
        )

    def _named(self, program: int) -> str:
        place = np.unravel_index(program, self._grid)
        used = max((d for d in range(3) if self._grid[d] > 1), default=0) + 1
        return str(tuple(int(i) for i in place[:used])) if used > 1 else str(int(place[0]))

    def _add(self, finding: Finding) -> None:
        key = (finding.kind, finding.line, finding.tensor)
        if key in self._found:
            self._found[key].count += finding.count
            return
        finding.kernel = self._kernel if finding.kernel == "" else finding.kernel
        if finding.kind != "unwritten_output":
            finding.program = tuple(int(i) for i in np.unravel_index(self._program, self._grid))
        self._found[key] = finding

    def _line(self) -> int:
        """The line of the submitted file that is being run."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            if frame.f_code.co_filename == self._path:
                return frame.f_lineno
            frame = frame.f_back
        return 0


_UNINITIALIZED = "reads {place}, which nobody wrote: torch.empty gives memory with anything in it"
_SAME_STORE = "one store writes different values to {place} in several lanes: one of them stays"


def _lines_of_bare_atomics(path: str) -> set[int]:
    """Lines of atomic operations whose result nobody uses."""
    with open(path, encoding="utf-8") as file:  # noqa: PTH123 - quick to import and to call
        tree = ast.parse(file.read())
    lines: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            name = getattr(node.value.func, "attr", getattr(node.value.func, "id", ""))
            if name in _ATOMICS:
                lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return lines
