"""What the instructions of a kernel say about it: how wide it reads, whether it uses tensor cores.

Opcodes: NVIDIA, *CUDA Binary Utilities*, "Instruction Set Reference".
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass

from wire.inspection import MemoryAccess, Stage

_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)")
_TENSOR_CORE = ("HMMA", "IMMA", "BMMA", "DMMA", "QMMA", "OMMA", "HGMMA", "IGMMA", "QGMMA", "UTC")
_ATOMIC = ("ATOM", "ATOMG", "RED", "REDG", "UBLKRED")
_OPS = {"LDG": "load", "STG": "store", "LDGSTS": "copy", "UBLKCP": "bulk", "UTMALDG": "bulk"}
_OPS |= {"UTMASTG": "bulk"}
_WIDTHS = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16, "256": 32}


@dataclass(frozen=True)
class Instruction:
    """One instruction: its opcode with modifiers, and the line it comes from."""

    opcode: str
    line: int

    @property
    def base(self) -> str:
        return self.opcode.split(".")[0]

    @property
    def width(self) -> int:
        """Bytes that one thread moves, if it is a memory access."""
        parts = self.opcode.split(".")
        return next((_WIDTHS[p] for p in parts if p in _WIDTHS), 4)


def instructions(sass: Stage) -> list[Instruction]:
    """All instructions of a disassembly, in order."""
    found = []
    for text, line in zip(sass.text.splitlines(), sass.lines, strict=True):
        if match := _INSTRUCTION.match(text):
            found.append(Instruction(match[1], line))
    return found


def tensor_core(code: list[Instruction]) -> int:
    """How many instructions multiply matrices."""
    return sum(i.base.startswith(_TENSOR_CORE) and "MMA" in i.base for i in code)


def atomics(code: list[Instruction]) -> int:
    """How many instructions read, modify and write global memory at once."""
    return sum(i.base in _ATOMIC for i in code)


def accesses(code: list[Instruction]) -> tuple[MemoryAccess, ...]:
    """The accesses to global memory, counted by kind and width."""
    counted = Counter((_OPS[i.base], i.width) for i in code if i.base in _OPS)
    return tuple(MemoryAccess(op, width, n) for (op, width), n in sorted(counted.items()))


def of_lines(code: list[Instruction], op: str, lines: set[int]) -> list[Instruction]:
    """The accesses of this kind that come from one of `lines`."""
    return [i for i in code if _OPS.get(i.base) == op and i.line in lines]


_BLOCK = re.compile(r"tensor<((?:\d+x)+)!tt\.ptr<")


def lines_of_blocks(ttgir: Stage, op: str, elements: int) -> set[int]:
    """The lines on which a block of at least this many elements is loaded or stored."""
    found = set()
    for text, line in zip(ttgir.text.splitlines(), ttgir.lines, strict=True):
        if f"tt.{op} " not in text:
            continue
        sizes = [math.prod(map(int, m[1].rstrip("x").split("x"))) for m in _BLOCK.finditer(text)]
        if line and max(sizes, default=0) >= elements:
            found.add(line)
    return found
