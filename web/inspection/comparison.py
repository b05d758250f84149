"""The same kernel of two submissions: its figures side by side, and where one of its forms differs."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass

from web.inspection.figures import LOADS, STORES, KernelFigures, widths
from web.inspection.listing import split
from wire.inspection import CompiledKernel, Stage

# Beyond, nobody reads a difference, and finding it takes long.
MOST_LINES = 5000
_ADDRESS = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s*", re.MULTILINE)
_HUNK = re.compile(r"^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")


@dataclass(frozen=True)
class Pair:
    """A figure before and after."""

    name: str
    before: object
    after: object

    @property
    def differs(self) -> bool:
        return self.before != self.after


@dataclass(frozen=True)
class DiffRow:
    """`kind` is "same", "gone", "new" or "gap"; 0 for a line number that a row has not."""

    kind: str
    before: int
    after: int
    text: str


def pairs(before: KernelFigures, after: KernelFigures) -> list[tuple[str, list[Pair]]]:
    """(target, figures) for every target that both were compiled for without an error."""
    found = []
    for row in after.rows:
        other = before.on(row.target)
        if other and not other.error and not row.error:
            found.append((row.target, _pairs(other, row)))
    return found


def _pairs(before: CompiledKernel, after: CompiledKernel) -> list[Pair]:
    def pair(name: str, field: str) -> Pair:
        return Pair(name, getattr(before, field), getattr(after, field))

    return [
        pair("Warps", "num_warps"),
        pair("Registers", "registers"),
        pair("Spills", "spills"),
        pair("Shared memory", "shared_memory"),
        Pair("Occupancy", _percent(before.occupancy), _percent(after.occupancy)),
        pair("Tensor-core", "tensor_core"),
        Pair("Loads", _widths(before, LOADS), _widths(after, LOADS)),
        Pair("Stores", _widths(before, STORES), _widths(after, STORES)),
        pair("Atomics", "atomics"),
    ]


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _widths(kernel: CompiledKernel, ops: tuple[str, ...]) -> str:
    found = widths(kernel.accesses, ops)
    return ", ".join(f"{count} × {width} B" for width, count in found) or "none"


def comparable(stage: Stage) -> str:
    """Its text without the addresses of instructions, which one instruction more would change in all
    that follow."""
    return _ADDRESS.sub("", stage.text)


def difference(before: str, after: str) -> tuple[list[DiffRow], bool]:
    """The rows that differ, each with three around it; and whether both were short enough to be compared
    whole. No rows: they are the same."""
    old, new = split(before), split(after)
    whole = max(len(old), len(new)) <= MOST_LINES
    return list(_rows(old[:MOST_LINES], new[:MOST_LINES])), whole


def _rows(old: list[str], new: list[str]) -> Iterator[DiffRow]:
    left = right = 0
    for line in list(difflib.unified_diff(old, new, lineterm=""))[2:]:
        if hunk := _HUNK.match(line):
            if left:
                yield DiffRow("gap", 0, 0, "")
            left, right = int(hunk[1]), int(hunk[2])
            continue
        sign, text = line[0], line[1:]
        if sign == "-":
            yield DiffRow("gone", left, 0, text)
        elif sign == "+":
            yield DiffRow("new", 0, right, text)
        else:
            yield DiffRow("same", left, right, text)
        left += sign != "+"
        right += sign != "-"
