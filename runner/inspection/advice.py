"""What a compiled kernel's figures mean for who wrote it, in plain words.

A remark is made only where something can be done about it; each names the figure it rests on.
"""

from __future__ import annotations

from dataclasses import dataclass

from runner.inspection.machine_code import Instruction, lines_of_blocks, of_lines
from wire.gpus import Gpu
from wire.inspection import Advice, Stage

_WIDE = 16
_LOW_OCCUPANCY = 0.25


@dataclass(frozen=True)
class Figures:
    """What is known of one kernel on one GPU; registers a thread, spills in bytes a thread."""

    gpu: Gpu
    programs: int
    blocks: int
    num_warps: int
    registers: int
    spills: int
    occupancy: float
    limited_by: str
    tensor_core: int
    dots: int
    dot_line: int


def advice(figures: Figures, code: list[Instruction], ttgir: Stage | None) -> tuple[Advice, ...]:
    """All remarks, the costliest first."""
    found = [
        *_spills(figures),
        *_dots(figures),
        *_narrow(figures, code, ttgir, "load"),
        *_narrow(figures, code, ttgir, "store"),
        *_occupancy(figures),
        *_grid(figures),
    ]
    return tuple(found)


def _spills(figures: Figures) -> list[Advice]:
    if not figures.spills:
        return []
    return [
        Advice(
            "spills",
            f"spills {figures.spills} bytes of each thread's registers to memory: use a smaller block "
            f"or more warps (it has {figures.num_warps})",
        )
    ]


def _dots(figures: Figures) -> list[Advice]:
    if not figures.dots or figures.tensor_core:
        return []
    return [
        Advice(
            "no_tensor_core",
            "tl.dot is not done by tensor cores: float32 operands with input_precision='ieee', or a "
            "block too small for them, are multiplied by ordinary instructions",
            figures.dot_line,
        )
    ]


def _narrow(
    figures: Figures, code: list[Instruction], ttgir: Stage | None, op: str
) -> list[Advice]:
    """A line that moves a large block in small pieces. Of blocks with fewer than two elements a thread,
    and of single values, nothing can be said."""
    if ttgir is None:
        return []
    found = []
    for line in sorted(lines_of_blocks(ttgir, op, 2 * 32 * figures.num_warps)):
        widths = [i.width for i in of_lines(code, op, {line})]
        small = [width for width in widths if width < _WIDE]
        if 2 * len(small) > len(widths):
            found.append(_narrow_at(line, op, small))
    return found


def _narrow_at(line: int, op: str, widths: list[int]) -> Advice:
    done = {"load": "loads", "store": "stores"}[op]
    said = " and ".join(str(width) for width in sorted(set(widths)))
    return Advice(
        f"narrow_{op}s",
        f"{done} only {said} bytes at a time in each thread, where 16 are possible: the compiler could "
        "not prove that addresses are contiguous and aligned (a stride not known to be 1, a row length "
        "that 16 does not divide), or each thread has too few elements",
        line,
    )


def _occupancy(figures: Figures) -> list[Advice]:
    if figures.occupancy >= _LOW_OCCUPANCY or figures.tensor_core:
        return []  # matrix products hide latency by their own pipelines
    return [
        Advice(
            "low_occupancy",
            f"only {figures.occupancy:.0%} of the warps that a multiprocessor holds can be resident, "
            f"limited by {figures.limited_by}: too few to hide the latency of memory, unless each has "
            "many independent loads under way",
        )
    ]


def _grid(figures: Figures) -> list[Advice]:
    if figures.programs >= figures.gpu.multiprocessors:
        return []
    return [
        Advice(
            "small_grid",
            f"its {figures.programs} programs leave {figures.gpu.multiprocessors - figures.programs} of "
            f"{figures.gpu.multiprocessors} multiprocessors of the {figures.gpu.name} without work",
        )
    ]
