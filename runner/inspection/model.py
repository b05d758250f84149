"""A modelled time for kernels that nobody ran on a GPU: an estimate, always labelled as one.

For each launch: the slowest of memory, second-level cache, vector units, special function units and
tensor cores, none of which waits for another; stretched where the last wave of programs does not fill
the machine, and where too few bytes are under way to keep memory busy (Little's law, as used by Volkov,
*Understanding latency hiding on GPUs*, 2016). The roofline is that of Williams, Waterman and Patterson,
2009.

What caches absorb is a guess: of a tensor that half of the second-level cache holds, what is loaded
again is a hit; of a larger one, the programs that run together share what is loaded again as blocks of
a square would, so that one in the square root of their number goes to memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

from problems.spec import Benchmark, Cost
from wire.gpus import Gpu
from wire.inspection import MODEL, CompiledKernel, ModelledTime, TensorTraffic, Trace

SECTOR = 32
# Seconds from a load that misses every cache to its data, on the generations modelled; microbenchmarks
# (for example Luo et al., *Benchmarking and dissecting the Nvidia Hopper architecture*, 2024) read 480
# to 600 ns.
MEMORY_LATENCY = 550e-9
# Independent loads that a thread has under way at most; more are limited by registers and scoreboards.
LOADS_UNDER_WAY = 6
# The special function units do a sixteenth of the multiply-adds' FLOPs (CUDA C++ Programming Guide,
# "Arithmetic Instructions": 16 results a clock against 128 fused multiply-adds).
SPECIAL_SHARE = 1 / 16
# An addition or multiplication alone uses half of what a fused multiply-add counts for.
VECTOR_SHARE = 1 / 2
_TENSOR = {"fp16": "fp16", "bf16": "bf16", "fp32": "tf32", "fp8e4nv": "fp8", "fp8e5": "fp8"}


def modelled(
    gpu: Gpu,
    benchmark: Benchmark,
    cost: Cost,
    traces: Iterable[Trace],
    kernels: Iterable[CompiledKernel],
    grids: Mapping[str, int],
) -> ModelledTime | None:
    """The time of all launches, at least the roofline's; None if one of them is not known as compiled.

    `traces` may be of another GPU: what is moved and computed is much the same. `grids` says how many
    programs each kernel has there, which may go with the number of multiprocessors.
    """
    compiled: dict[str, CompiledKernel] = {}
    for one in kernels:
        if one.target == gpu.target and not one.error:
            compiled.setdefault(one.name, one)
    seconds = 0.0
    parts: dict[str, float] = {}
    for trace in traces:
        if trace.programs and trace.kernel not in compiled:
            return None
        kernel = compiled.get(trace.kernel)
        part = _launches(gpu, _on(kernel, trace, grids), kernel)
        seconds += part
        name = trace.kernel if trace.programs else "PyTorch"
        parts[name] = parts.get(name, 0.0) + part
    if not seconds:
        return None
    least = roofline(gpu, cost)
    return ModelledTime(
        gpu=gpu.name,
        shape=benchmark.model,
        seconds=max(seconds, least),
        roofline=least,
        parts=parts,
        benchmark=benchmark.name,
        version=MODEL,
    )


def _on(kernel: CompiledKernel | None, trace: Trace, grids: Mapping[str, int]) -> Trace:
    """The trace with as many programs as `kernel` has on its own GPU."""
    if kernel is None:
        return trace
    here = math.prod(kernel.grid)
    return replace(trace, programs=max(trace.programs * here // grids.get(kernel.name, here), 1))


def roofline(gpu: Gpu, cost: Cost) -> float:
    """Seconds below which no implementation of `cost` can be on `gpu`."""
    return max(
        cost.bytes / gpu.bandwidth,
        cost.vector_flops / gpu.vector_flops,
        cost.matrix_flops / gpu.tensor_flops["bf16"],
    )


def _launches(gpu: Gpu, trace: Trace, kernel: CompiledKernel | None) -> float:
    """All launches of a trace, each with its share of the work; without a kernel PyTorch's own."""
    units = _units(gpu, trace, kernel) if kernel else _library(gpu, trace)
    return trace.launches * gpu.launch_seconds + units


def _units(gpu: Gpu, trace: Trace, kernel: CompiledKernel) -> float:
    blocks = max(round(kernel.occupancy * gpu.warps / kernel.num_warps), 1)
    resident = min(trace.programs, gpu.multiprocessors * blocks)
    # An atomic operation reads and writes in the second-level cache.
    changed = sum(t.stored for t in trace.tensors if t.atomics)
    asked = max(trace.bytes, trace.sectors * SECTOR) + changed
    memory = sum(_from_memory(gpu, t, trace.launches, resident) for t in trace.tensors)
    busy = _busy(gpu, kernel, resident / gpu.multiprocessors)
    units = max(
        memory / (gpu.bandwidth * busy),
        asked / gpu.l2_bandwidth,
        trace.flops.get("vector", 0) / (gpu.vector_flops * VECTOR_SHARE),
        trace.flops.get("special", 0) / (gpu.vector_flops * SPECIAL_SHARE),
        _products(gpu, trace, bool(kernel.tensor_core)),
    )
    return units * _tail(trace.programs, gpu.multiprocessors)


def _library(gpu: Gpu, trace: Trace) -> float:
    """An operation of PyTorch's streams what it moves and is as fast as its slowest unit."""
    return max(
        trace.bytes / gpu.bandwidth,
        trace.flops.get("vector", 0) / (gpu.vector_flops * VECTOR_SHARE),
        _products(gpu, trace, True),
    )


def _from_memory(gpu: Gpu, traffic: TensorTraffic, launches: int, resident: int) -> float:
    moved = max(traffic.loaded + traffic.stored, traffic.minimum)
    again = moved - traffic.minimum
    if traffic.minimum / launches <= gpu.l2_bytes / 2:
        return float(traffic.minimum)
    return traffic.minimum + again / math.sqrt(resident)


def _busy(gpu: Gpu, kernel: CompiledKernel, blocks: float) -> float:
    """The share of the bandwidth that the bytes under way can keep busy."""
    loads = [a for a in kernel.accesses if a.op in ("load", "copy", "bulk")]
    if not loads:
        return 1.0
    count = sum(a.count for a in loads)
    width = sum(a.count * a.width for a in loads) / count
    stages = kernel.num_stages if any(a.op in ("copy", "bulk") for a in loads) else 1
    under_way = blocks * kernel.num_warps * 32 * width * min(count, LOADS_UNDER_WAY) * stages
    needed = MEMORY_LATENCY * gpu.bandwidth / gpu.multiprocessors
    return min(under_way / needed, 1.0)


def _products(gpu: Gpu, trace: Trace, on_tensor_cores: bool) -> float:
    total = 0.0
    for kind, flops in trace.flops.items():
        if kind.startswith("tensor_"):
            rate = gpu.tensor_flops.get(_TENSOR.get(kind.removeprefix("tensor_"), ""))
            total += flops / (rate if on_tensor_cores and rate else gpu.vector_flops)
    return total


def _tail(programs: int, multiprocessors: int) -> float:
    """How much longer it takes because the multiprocessor with most programs has more than its share."""
    share = programs / multiprocessors
    return math.ceil(share) / share
