"""The figures in the notes of the reference solutions: python -m benchmarks.notes [PROBLEM ...]

Rewrites the section "Figures" at the end of kernels/<problem>/notes.md: the least work of each GPU
benchmark shape, by the problem's cost model, and what each file in Triton compiles to and moves, as
recorded in compiled.json (see benchmarks.compiled). With `--check` nothing is written, and the exit code
is 1 if a section is out of date.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from benchmarks.compiled import KERNELS, kept
from problems import Problem, all_problems, get_problem
from runner.inspection.model import roofline
from wire.gpus import GPUS
from wire.inspection import CompiledKernel, Inspection

HEADING = "## Figures"
TARGETS = ("sm_90", "sm_100")
SHOWN = GPUS["sm_90"]
_UNITS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.notes", description=__doc__)
    parser.add_argument("problems", nargs="*", default=[p.slug for p in all_problems()])
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args()
    outdated = [slug for slug in options.problems if text(slug) != path(slug).read_text("utf-8")]
    for slug in outdated:
        print(f"the figures in {path(slug).relative_to(KERNELS)} are out of date")
        if not options.check:
            path(slug).write_text(text(slug), encoding="utf-8")
    return int(options.check and bool(outdated))


def path(slug: str) -> Path:
    return KERNELS / slug / "notes.md"


def text(slug: str) -> str:
    """The notes with today's figures at their end."""
    before = path(slug).read_text(encoding="utf-8").partition(f"\n{HEADING}\n")[0]
    return f"{before.rstrip()}\n\n{HEADING}\n\n{section(get_problem(slug))}"


def section(problem: Problem) -> str:
    """The tables, as Markdown."""
    parts = ["\n".join(least_work(problem))]
    recorded = kept(problem.slug)
    for name in sorted(recorded):
        found = Inspection.from_json(recorded[name]["figures"])
        parts.append("\n".join(compiled(name, found)))
    parts.append(
        "Worked out by `python -m benchmarks.notes` from the cost model, the compiler's report and the "
        "traced accesses. Nothing here was measured on a GPU."
    )
    return "\n\n".join(parts) + "\n"


def least_work(problem: Problem) -> Iterator[str]:
    """The least work of each shape on a GPU."""
    names = " | ".join(GPUS[target].name for target in TARGETS)
    yield f"| least work | traffic | FLOPs | a byte | {names} |"
    yield "| --- " + "| ---: " * (3 + len(TARGETS)) + "|"
    for shape in problem.benchmarks["gpu"]:
        cost = problem.cost(shape.dims)
        flops = scaled(cost.vector_flops + cost.matrix_flops, "")
        times = " | ".join(microseconds(roofline(GPUS[target], cost)) for target in TARGETS)
        yield (
            f"| {shape.model} | {scaled(cost.bytes, 'B')} | {flops} "
            f"| {digits(cost.arithmetic_intensity)} | {times} |"
        )


def compiled(name: str, found: Inspection) -> Iterator[str]:
    """What one file compiles to and moves, on the one GPU that is shown."""
    yield f"| `{name}`, {SHOWN.name} | registers | spilled | shared | occupancy | moved | modelled |"
    yield "| --- " + "| ---: " * 6 + "|"
    times = next((m.parts for m in found.models if m.gpu == SHOWN.name), {})
    for kernel in _once(k for k in found.kernels if k.target == SHOWN.target):
        moved = sum(t.bytes for t in found.traces if t.kernel == kernel.name)
        modelled = microseconds(times[kernel.name]) if kernel.name in times else "–"
        yield (
            f"| `{kernel.name}` | {kernel.registers} | {scaled(kernel.spills, 'B')} "
            f"| {scaled(kernel.shared_memory, 'B')} | {kernel.occupancy:.0%} "
            f"| {scaled(moved, 'B')} | {modelled} |"
        )
    yield ""
    yield f"On {found.shape}.{_together(found)}"


def _together(found: Inspection) -> str:
    for model in found.models:
        if model.gpu == SHOWN.name:
            return (
                f" All together {microseconds(model.seconds)} modelled, {model.efficiency:.0%} of the "
                "roofline."
            )
    return ""


def _once(kernels: Iterable[CompiledKernel]) -> Iterator[CompiledKernel]:
    """One of each name: that with most registers, where one kernel is compiled in several ways."""
    most: dict[str, CompiledKernel] = {}
    for kernel in kernels:
        if kernel.name not in most or kernel.registers > most[kernel.name].registers:
            most[kernel.name] = kernel
    yield from most.values()


def scaled(value: float, unit: str) -> str:
    """`value` with three digits and a prefix: 805 MB, 0 B as a dash."""
    if not value:
        return "–"
    for size, prefix in _UNITS:
        if value >= size:
            return f"{digits(value / size)} {prefix}{unit}"
    return f"{digits(value)} {unit}"


def microseconds(seconds: float) -> str:
    return f"{digits(seconds * 1e6)} µs" if seconds < 1e-3 else f"{digits(seconds * 1e3)} ms"


def digits(value: float) -> str:
    """`value` with three digits, or all before the point."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


if __name__ == "__main__":
    sys.exit(main())
