"""From what the compiling process told to what is known of each kernel."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from runner.failures import text
from runner.harness.errors import USER_FILE
from runner.inspection.advice import Figures, advice
from runner.inspection.lines import READERS
from runner.inspection.machine_code import accesses, atomics, instructions, tensor_core
from runner.inspection.occupancy import occupancy
from wire.gpus import GPUS, Gpu
from wire.inspection import CompiledKernel, Stage

_LONGEST_NAME = 200
_MOST_ENTRIES = 100
_REGISTERS = re.compile(r"Used (\d+) registers")
_SPILLS = re.compile(r"(\d+) bytes spill stores")


_GPUS = {gpu.capability: gpu for gpu in GPUS.values()}


def kernel(told: Mapping[str, Any]) -> CompiledKernel | None:
    """A kernel as compiled for one target, from an answer that may hold anything; None if it is for
    none that we know."""
    gpu = _GPUS.get(_number(told.get("capability")))
    if gpu is None:
        return None
    common: dict[str, Any] = {
        "name": text(told.get("kernel", ""), _LONGEST_NAME),
        "target": gpu.target,
        "gpu": gpu.name,
        "line": _number(told.get("line")),
        "grid": _grid(told.get("grid")),
        "launches": max(_number(told.get("launches")), 1),
        "arguments": _texts(told.get("arguments")),
        "constants": _texts(told.get("constants")),
        "options": _texts(told.get("options")),
    }
    if "error" in told:
        return CompiledKernel(**common, error=text(told["error"], 8000))
    stages: dict[str, Any] = {name: _stage(name, told.get(name)) for name in READERS}
    return _measured(CompiledKernel(**common, **stages), gpu, told)


def _measured(kernel: CompiledKernel, gpu: Gpu, result: Mapping[str, Any]) -> CompiledKernel:
    log = str(result.get("log", ""))
    num_warps = max(_number(result.get("num_warps")), 1)
    registers = _first(_REGISTERS, log)
    spills = _first(_SPILLS, log)
    shared = _number(result.get("shared"))
    try:
        fits = occupancy(gpu, num_warps=num_warps, registers=registers, shared_memory=shared)
    except ValueError as error:
        return _with(kernel, num_warps=num_warps, registers=registers, error=str(error))
    code = instructions(kernel.sass) if kernel.sass else []
    dots, dot_line = _dots(kernel.ttir)
    figures = Figures(
        gpu=gpu,
        programs=math.prod(kernel.grid),
        blocks=fits.blocks,
        num_warps=num_warps,
        registers=registers,
        spills=spills,
        occupancy=fits.share,
        limited_by=fits.limited_by,
        tensor_core=tensor_core(code),
        dots=dots,
        dot_line=dot_line,
    )
    return _with(
        kernel,
        num_warps=num_warps,
        num_stages=_number(result.get("num_stages")),
        registers=registers,
        spills=spills,
        shared_memory=shared,
        occupancy=fits.share,
        limited_by=fits.limited_by,
        tensor_core=figures.tensor_core,
        atomics=atomics(code),
        accesses=accesses(code),
        advice=advice(figures, code, kernel.ttgir),
    )


def _with(kernel: CompiledKernel, **changes: Any) -> CompiledKernel:
    return CompiledKernel(**{**vars(kernel), **changes})


def _stage(name: str, value: Any) -> Stage | None:
    if not isinstance(value, str):
        return None
    return READERS[name](text(value, len(value)), USER_FILE)


def _dots(ttir: Stage | None) -> tuple[int, int]:
    """How many matrix products the kernel asks for, and the line of the first."""
    if ttir is None:
        return 0, 0
    lines = [
        number
        for content, number in zip(ttir.text.splitlines(), ttir.lines, strict=True)
        if "tt.dot" in content
    ]
    return len(lines), lines[0] if lines else 0


def _first(pattern: re.Pattern[str], log: str) -> int:
    found = pattern.search(log)
    return int(found[1]) if found else 0


def _number(value: Any) -> int:
    return value if type(value) is int and 0 <= value < 1 << 40 else 0


def _grid(value: Any) -> tuple[int, ...]:
    sizes = value if isinstance(value, list) and 0 < len(value) <= 3 else [1]
    return tuple(max(_number(size), 1) for size in sizes)


def _texts(value: Any) -> dict[str, str]:
    pairs = list(value.items())[:_MOST_ENTRIES] if isinstance(value, dict) else []
    return {text(k, _LONGEST_NAME): text(v, _LONGEST_NAME) for k, v in pairs}
