"""From what nvcc and the disassembler wrote to what is known of each kernel in a `.cu` file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from runner.failures import text
from runner.inspection.lines import ptx, sass
from runner.inspection.machine_code import (
    Instruction,
    accesses,
    atomics,
    instructions,
    of_lines,
    tensor_core,
)
from runner.inspection.occupancy import occupancy
from wire.gpus import Gpu
from wire.inspection import Advice, CompiledKernel, Stage

USER_FILE = "submission.cu"
THREADS = 256  # a block where the source does not say
_LOW_OCCUPANCY = 0.25
_NARROW = 4

_COMPILING = re.compile(r"Compiling entry function '([^']+)'")
_SECTION = re.compile(r"^//-+ \.text\.(\S+) -+$", re.MULTILINE)
_OTHER_SECTION = re.compile(r"^//-+ (?!\.text\.).*-+$", re.MULTILINE)
_ENTRY = re.compile(r"\.entry\s+([\w$]+)\s*\(")
_MOST_THREADS = re.compile(r"\.(?:maxntid|reqntid)\s+(\d+)(?:,\s*(\d+))?(?:,\s*(\d+))?")


@dataclass(frozen=True)
class _Usage:
    """What the assembler says a kernel uses: registers a thread, bytes a thread, bytes a block."""

    registers: int
    spills: int
    stack: int
    shared: int


def kernels(told: Mapping[str, Any], source: str, gpu: Gpu) -> list[CompiledKernel]:
    """The kernels compiled for one target, from an answer that may hold anything."""
    usages = _usages(_text(told, "log"))
    machine_code = _by_section(_text(told, "sass"))
    code_of_ptx = _by_entry(_text(told, "ptx"))
    given = told.get("names")
    names = given if isinstance(given, dict) else {}
    found = []
    for symbol, usage in usages.items():
        name, types = _signature(symbol, text(names.get(symbol, ""), 8000))
        stages = machine_code.get(symbol), code_of_ptx.get(symbol)
        found.append(_kernel(name, types, usage, source, gpu, *stages))
    return sorted(found, key=lambda kernel: (kernel.line, kernel.name))


def _text(told: Mapping[str, Any], name: str) -> str:
    value = told.get(name)
    return text(value, len(value)) if isinstance(value, str) else ""


def _usages(log: str) -> dict[str, _Usage]:
    parts = _COMPILING.split(log)[1:]
    return {
        name: _Usage(
            registers=_number(r"Used (\d+) registers", said),
            spills=_number(r"(\d+) bytes spill stores", said),
            stack=_number(r"(\d+) bytes stack frame", said),
            shared=_number(r"(\d+) bytes smem", said),
        )
        for name, said in zip(parts[::2], parts[1::2], strict=True)
    }


def _number(pattern: str, log: str) -> int:
    found = re.search(pattern, log)
    return int(found[1][:9]) if found else 0


def _by_section(disassembly: str) -> dict[str, Stage]:
    """Each function's machine code, with the lines it comes from."""
    parts = _SECTION.split(disassembly)[1:]
    ends = [_OTHER_SECTION.split(part)[0] for part in parts[1::2]]
    return {name: sass(part, USER_FILE) for name, part in zip(parts[::2], ends, strict=True)}


def _by_entry(code: str) -> dict[str, Stage]:
    """Each kernel's PTX: from its `.entry` to the brace that closes it."""
    whole = ptx(code, USER_FILE)
    found: dict[str, Stage] = {}
    lines = whole.text.splitlines()
    start: int | None = None
    for number, line in enumerate(lines):
        if ".entry" in line:
            start = number
        if start is not None and line.startswith("}"):
            part = "\n".join(lines[start : number + 1]) + "\n"
            if entry := _ENTRY.search(part):
                found[entry[1]] = Stage(part, whole.lines[start : number + 1])
            start = None
    return found


def _kernel(
    name: str,
    types: dict[str, str],
    usage: _Usage,
    source: str,
    gpu: Gpu,
    machine_code: Stage | None,
    code: Stage | None,
) -> CompiledKernel:
    bounds = _MOST_THREADS.search(code.text) if code else None
    threads = _threads(bounds)
    found = CompiledKernel(
        name=name,
        target=gpu.target,
        gpu=gpu.name,
        line=_line(name, source, machine_code),
        grid=(),
        launches=0,
        arguments=types,
        constants={},
        options={"threads": f"at most {threads}" if bounds else "unknown"},
        num_warps=-(-threads // 32),
        registers=usage.registers,
        spills=usage.spills,
        shared_memory=usage.shared,
        ptx=code,
        sass=machine_code,
    )
    return _measured(found, usage, gpu)


def _measured(kernel: CompiledKernel, usage: _Usage, gpu: Gpu) -> CompiledKernel:
    code = instructions(kernel.sass) if kernel.sass else []
    try:
        fits = occupancy(
            gpu,
            num_warps=kernel.num_warps,
            registers=kernel.registers,
            shared_memory=kernel.shared_memory,
        )
    except ValueError as error:
        return replace(kernel, error=str(error))
    return replace(
        kernel,
        occupancy=fits.share,
        limited_by=fits.limited_by,
        tensor_core=tensor_core(code),
        atomics=atomics(code),
        accesses=accesses(code),
        advice=(
            *_local_memory(usage),
            *_narrow(code, "load"),
            *_narrow(code, "store"),
            *_occupancy(fits.share, fits.limited_by, kernel),
        ),
    )


def _threads(bounds: re.Match[str] | None) -> int:
    if bounds is None:
        return THREADS
    sizes = [int(size[:6]) for size in bounds.groups() if size]
    product = 1
    for size in sizes:
        product *= size
    return min(max(product, 1), 1024)


def _signature(symbol: str, demangled: str) -> tuple[str, dict[str, str]]:
    """The kernel's name, with template arguments but without scopes, and its parameters' types by
    number; of "void (anonymous namespace)::rows<1>(float*, int)" rows<1>, float* and int."""
    bare = demangled.removeprefix("void ").replace("(anonymous namespace)::", "")
    name, _, rest = bare.partition("(")
    types = re.split(r",\s*(?![^<(]*[>)])", rest.removesuffix(")")) if rest else []
    named = {f"argument {n}": kind[:200] for n, kind in enumerate(types[:100], start=1)}
    return (_without_scopes(name) or symbol)[:200], named


def _without_scopes(name: str) -> str:
    """What follows the last :: that is outside of template arguments."""
    depth, start = 0, 0
    for at, letter in enumerate(name):
        depth += (letter == "<") - (letter == ">")
        if depth == 0 and name[at : at + 2] == "::":
            start = at + 2
    return name[start:]


def _line(name: str, source: str, machine_code: Stage | None) -> int:
    """Where the kernel is defined; else the first line that its code comes from."""
    bare = re.escape(name.partition("<")[0])
    pattern = rf"__global__[^;{{}}]*?\b{bare}\s*\([^;]*?\{{"
    if found := re.search(pattern, source):
        return source.count("\n", 0, found.start()) + 1
    lines = [line for line in machine_code.lines if line] if machine_code else []
    return min(lines, default=0)


def _local_memory(usage: _Usage) -> list[Advice]:
    if usage.spills:
        return [
            Advice(
                "spills",
                f"spills {usage.spills} bytes of each thread's registers to memory: keep fewer values "
                "at a time, or allow more registers with a smaller __launch_bounds__",
            )
        ]
    if usage.stack:
        return [
            Advice(
                "stack",
                f"keeps {usage.stack} bytes of each thread in local memory: an array whose index is not "
                "known to the compiler cannot lie in registers; unroll the loop over it",
            )
        ]
    return []


def _narrow(code: list[Instruction], op: str) -> list[Advice]:
    """Lines all of whose accesses move one or two bytes a thread."""
    done = {"load": "loads", "store": "stores"}[op]
    found = []
    for line in sorted({i.line for i in code if i.line}):
        widths = [i.width for i in of_lines(code, op, {line})]
        if widths and max(widths) < _NARROW:
            found.append(
                Advice(
                    f"narrow_{op}s",
                    f"{done} {max(widths)} byte{'s' * (max(widths) > 1)} at a time in each thread, "
                    "where 16 are possible: move several elements at once, as __nv_bfloat162 or uint4",
                    line,
                )
            )
    return found


def _occupancy(share: float, limited_by: str, kernel: CompiledKernel) -> list[Advice]:
    if share >= _LOW_OCCUPANCY:
        return []
    return [
        Advice(
            "low_occupancy",
            f"only {share:.0%} of the warps that a multiprocessor holds can be resident in blocks of "
            f"{kernel.num_warps} warps, limited by {limited_by}: too few to hide the latency of memory, "
            "unless each has many independent loads under way",
        )
    ]
