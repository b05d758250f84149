"""What is believed of a trace.

The process that traces has the submission in it and can tell anything. What it tells makes a modelled
time only if it is at least about what the problem's cost model says that nobody can do without; and no
time is below the roofline. So the most that a forger can claim is the roofline, as a perfect kernel may.

"About": programs are sampled, so that an honest trace can fall short of what it samples.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from problems.spec import Cost, Dims, GradientSpec, Problem, Role, TensorSpec, lengths
from runner.inspection.tracer import LARGEST_GRID, Traced
from wire.inspection import CompiledKernel, Trace

# The share of the least that a trace must show.
SHARE = 0.5
# Where indices decide what a program does a few programs may do most of it, and samples miss them.
SHARE_BY_INDEX = 0.05
# How an operation of PyTorch's is called in a trace.
LIBRARY = "torch."


def refusal(
    problem: Problem, dims: Dims, traced: Traced, kernels: Sequence[CompiledKernel]
) -> str | None:
    """Why no time is modelled of this trace and these kernels, all compiled for the GPU traced for;
    None if it may be."""
    cost = problem.cost(dims)
    return next(
        filter(
            None,
            (
                _incomplete(traced, kernels),
                _other_launches(traced.traces, kernels),
                _unread(problem, dims, traced),
                _unwritten(problem, dims, traced),
                _too_few_bytes(problem, dims, traced.traces),
                _too_few_flops(traced.traces, cost),
            ),
        ),
        None,
    )


def _incomplete(traced: Traced, kernels: Iterable[CompiledKernel]) -> str | None:
    if traced.left_out:
        return f"{traced.left_out} of the launches are too many to be traced"
    if not any(not trace.kernel.startswith(LIBRARY) for trace in traced.traces):
        return "no launch of a Triton kernel was traced"
    failed = sorted({kernel.name for kernel in kernels if kernel.error})
    return f"{failed[0]} does not compile" if failed else None


def _other_launches(traces: Iterable[Trace], kernels: Sequence[CompiledKernel]) -> str | None:
    """The trace and the compiler are two processes: what they saw launched must agree."""
    traced: Counter[str] = Counter()
    for trace in traces:
        if trace.kernel.startswith(LIBRARY):
            continue
        if not trace.programs:
            return f"{trace.kernel} was traced with a grid that no GPU launches"
        traced[trace.kernel] += trace.launches
    compiled: Counter[str] = Counter()
    for kernel in kernels:
        compiled[kernel.name] += kernel.launches
        if not _exists(kernel.grid):
            return f"{kernel.name} was compiled with a grid that no GPU launches"
    if traced != compiled:
        name = min((traced - compiled) + (compiled - traced))
        return (
            f"{name} is launched {compiled[name]} times where it was compiled and {traced[name]} times "
            "where it was traced"
        )
    return None


def _exists(grid: Sequence[int]) -> bool:
    sizes = [*grid, 1, 1, 1][: max(len(grid), len(LARGEST_GRID))]
    return len(sizes) == len(LARGEST_GRID) and all(
        0 < size <= largest for size, largest in zip(sizes, LARGEST_GRID, strict=True)
    )


def _unread(problem: Problem, dims: Dims, traced: Traced) -> str | None:
    for argument, read in zip(problem.arguments, traced.read, strict=True):
        size = _size(argument, dims)
        if _must_be_read(argument) and read < _share(problem) * size:
            return f"of {argument.name}'s {size} bytes the trace shows only {read} being read"
    return None


def _share(problem: Problem) -> float:
    by_index = any(not argument.dtype.is_floating_point for argument in problem.arguments)
    return SHARE_BY_INDEX if by_index else SHARE


def _must_be_read(argument: TensorSpec) -> bool:
    """What was saved can be computed again; what is handed over for its shape need not be read."""
    return argument.role is not Role.SAVED and not argument.shape_only


def _size(tensor: TensorSpec | GradientSpec, dims: Dims) -> int:
    return math.prod(lengths(tensor.shape, dims)) * tensor.dtype.itemsize


def _unwritten(problem: Problem, dims: Dims, traced: Traced) -> str | None:
    for gradient, written in zip(problem.gradients, traced.written, strict=True):
        size = _size(gradient, dims)
        if written < _share(problem) * size:
            return f"of {gradient.name}'s {size} bytes the trace shows only {written} being written"
    return None


def _too_few_bytes(problem: Problem, dims: Dims, traces: Iterable[Trace]) -> str | None:
    """What launches are said to move must hold what they are said to read and write."""
    least = problem.output_bytes(dims) + sum(
        _size(argument, dims) for argument in problem.arguments if _must_be_read(argument)
    )
    moved = sum(trace.bytes for trace in traces)
    if moved < SHARE * least:
        return f"the launches move {moved} bytes in the trace, and the least is {least}"
    return None


def _too_few_flops(traces: Iterable[Trace], cost: Cost) -> str | None:
    """Products may be done by any unit. What other work is counted as depends on how it is written."""
    done = sum(sum(trace.flops.values()) for trace in traces)
    if done < SHARE * cost.matrix_flops:
        return f"the trace shows {done:.3g} FLOPs of the {cost.matrix_flops:.3g} that the products take"
    return None
