"""The figures of compiled kernels, arranged as a page shows them: a table for each kernel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from wire.inspection import Advice, CompiledKernel, Inspection, MemoryAccess

# In words of the memory's direction: a copy to shared memory and a bulk copy read.
LOADS = ("load", "copy", "bulk")
STORES = ("store",)
_OFTEN_ABSENT = {
    "spills": "spills",
    "shared_memory": "shared memory",
    "tensor_core": "tensor-core instructions",
    "atomics": "atomics",
}
_COLUMNS = 10


@dataclass(frozen=True)
class AdviceGroup:
    """The same remark on one or several targets; `message` is the first target's, with its figures."""

    message: str
    line: int
    targets: tuple[str, ...]


@dataclass(frozen=True)
class KernelFigures:
    """One kernel as compiled for every target. `key` names it among those of its file."""

    key: str
    rows: tuple[CompiledKernel, ...]

    @property
    def first(self) -> CompiledKernel:
        return self.rows[0]

    @property
    def name(self) -> str:
        return self.first.name

    @property
    def absent(self) -> dict[str, str]:
        """The figures that are zero wherever it compiled, which need no column: field and words."""
        return {
            field: words
            for field, words in _OFTEN_ABSENT.items()
            if not any(getattr(row, field) for row in self.rows)
        }

    @property
    def columns(self) -> int:
        """Of its table, besides the target's."""
        return _COLUMNS - len(self.absent)

    @property
    def advice(self) -> tuple[AdviceGroup, ...]:
        groups: dict[tuple[str, int], list[tuple[Advice, str]]] = {}
        for row in self.rows:
            for advice in row.advice:
                groups.setdefault((advice.kind, advice.line), []).append((advice, row.target))
        return tuple(
            AdviceGroup(found[0][0].message, line, tuple(target for _, target in found))
            for (_, line), found in groups.items()
        )

    def on(self, target: str) -> CompiledKernel | None:
        return next((row for row in self.rows if row.target == target), None)


def kernels_of(inspection: Inspection) -> tuple[KernelFigures, ...]:
    """By kernel in the order in which they are launched.

    A kernel that is launched in several ways is compiled several times for each target; the second of
    these is `name.2`.
    """
    seen: Counter[tuple[str, str]] = Counter()
    rows: dict[str, list[CompiledKernel]] = {}
    for kernel in inspection.kernels:
        seen[kernel.name, kernel.target] += 1
        number = seen[kernel.name, kernel.target]
        key = kernel.name if number == 1 else f"{kernel.name}.{number}"
        rows.setdefault(key, []).append(kernel)
    return tuple(KernelFigures(key, tuple(found)) for key, found in rows.items())


def widths(accesses: Iterable[MemoryAccess], ops: tuple[str, ...]) -> tuple[tuple[int, int], ...]:
    """(bytes a thread, how many instructions) of these accesses, the widest first."""
    counts: Counter[int] = Counter()
    for access in accesses:
        if access.op in ops:
            counts[access.width] += access.count
    return tuple(sorted(counts.items(), reverse=True))
