"""The traffic of an ideal kernel, counted tensor by tensor, beside what a cost model says."""

from __future__ import annotations

import math
from collections.abc import Iterable

from problems.pairs import forward_of
from problems.spec import Benchmark, Case, Dims, Problem, lengths


def ideal_traffic(problem: Problem, dims: Dims) -> int:
    """Bytes of a kernel that reads every argument once and writes every gradient once.

    An argument that only hands over a shape is not read. A pair reads the inputs of `forward` twice, or
    saves as much in their place, and writes the output.
    """
    read = sum(
        math.prod(lengths(a.shape, dims)) * a.dtype.itemsize
        for a in problem.arguments
        if not a.shape_only
    )
    total = read + problem.output_bytes(dims)
    if problem.pair is None:
        return total
    return total + ideal_traffic(forward_of(problem), dims)


def cost_objections(problem: Problem) -> list[str]:
    """Shapes for which the cost model differs from the ideal kernel, or counts no arithmetic."""
    benchmarks = [b for group in problem.benchmarks.values() for b in group]
    shapes: Iterable[Case | Benchmark] = (*problem.cases, *benchmarks)
    found = []
    for shape in shapes:
        cost, ideal = problem.cost(shape.dims), ideal_traffic(problem, shape.dims)
        if cost.bytes != ideal:
            found.append(f"{shape.name}: {cost.bytes} bytes, an ideal kernel moves {ideal}")
        if cost.vector_flops + cost.matrix_flops <= 0:
            found.append(f"{shape.name}: no FLOPs are counted")
    return found
