"""Looking into one submission: from its source to an Inspection."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from problems.spec import Benchmark, Problem
from runner.failures import SessionFailed
from runner.inspection.compiler import Compiler, specs_of
from runner.inspection.kernels import kernel
from runner.inspection.model import modelled
from runner.inspection.plausible import refusal
from runner.inspection.tracer import Traced, Tracer
from sandbox.spec import Sandbox
from wire.access_maps import AccessMaps
from wire.gpus import GPUS
from wire.inspection import CompiledKernel, Inspection, ModelledTime

# The benchmark shapes on which a kernel is compiled: those of GPUs, which are what it is written for.
SHAPES_OF = "gpu"
TARGETS = tuple(GPUS)
# Tracing takes seconds for each GPU, whose number of multiprocessors may change what is launched: one.
TRACED = "sm_90"


class UnknownTarget(ValueError):
    """A target that no GPU here has; the message names those there are."""


def inspect(
    problem: Problem,
    source: str,
    sandbox: Sandbox,
    *,
    targets: Sequence[str] = TARGETS,
    benchmark: Benchmark | None = None,
    every_shape: bool = False,
) -> Inspection:
    """What the Triton kernels in `source` compile to on a benchmark shape (default: the first of GPUs),
    and, where TRACED is among the targets, what they move and compute there and modelled times; with
    `every_shape` for TRACED on the other benchmark shapes, too.

    What the submission does wrong ends in a remark, never in an exception.

    Raises:
        UnknownTarget; SandboxUnavailable, HarnessBroken: judging itself failed.
    """
    if unknown := set(targets) - set(GPUS):
        raise UnknownTarget(f"{', '.join(sorted(unknown))}: there are {', '.join(GPUS)}")
    shape = benchmark or problem.benchmarks[SHAPES_OF][0]
    more = [b for b in problem.benchmarks[SHAPES_OF] if b != shape] if every_shape else []
    compiled = _compiled(problem, source, sandbox, targets, [shape, *more])
    first = compiled[shape.name]
    looked = _traced(problem, source, sandbox, compiled) if TRACED in targets else []
    trace = looked[0].trace if looked else None
    remarks = [remark for of in compiled.values() for remark in of.remarks]
    remarks += [remark for of in looked for remark in of.remarks]
    return Inspection(
        problem=problem.slug,
        shape=shape.model,
        dims=dict(shape.dims),
        targets=tuple(targets),
        kernels=tuple(first.kernels),
        traces=trace.traces if trace else (),
        findings=trace.findings if trace else (),
        models=tuple(model for of in looked for model in of.models),
        remarks=tuple(dict.fromkeys(remarks)),
        maps=next((of.maps for of in looked if of.maps), None),
        problem_version=problem.version,
    )


@dataclass
class _Compiled:
    """What is launched on one shape, as compiled for every target."""

    benchmark: Benchmark
    kernels: list[CompiledKernel]
    remarks: list[str]


@dataclass
class _Looked:
    """What was traced on one shape, and modelled times for the GPUs it was compiled for."""

    trace: Traced | None
    models: list[ModelledTime]
    remarks: list[str]
    maps: AccessMaps | None = None


def _compiled(
    problem: Problem,
    source: str,
    sandbox: Sandbox,
    targets: Sequence[str],
    shapes: Sequence[Benchmark],
) -> dict[str, _Compiled]:
    """By the shape's name: the first for every target and with texts, others for the one whose times
    rank a board."""
    found = {shape.name: _Compiled(shape, [], []) for shape in shapes}
    with Compiler(sandbox) as compiler:
        compiler.start()
        try:
            compiler.load(problem, source)
            for shape in shapes:
                is_first = shape is shapes[0]
                gpus = [GPUS[t] for t in targets if is_first or t == TRACED]
                told, remarks = compiler.compile(
                    specs_of(problem, shape.dims), gpus, texts=is_first
                )
                if not told:
                    remarks.append("backward launches no Triton kernel.")
                kernels = [k for k in map(kernel, told) if k is not None]
                found[shape.name] = _Compiled(shape, kernels, remarks)
        except SessionFailed as failure:
            remark = f"The kernels could not be compiled. {failure.headline}"
            next(of for of in found.values() if not of.kernels).remarks.append(remark)
    return found


def _traced(
    problem: Problem, source: str, sandbox: Sandbox, compiled: Mapping[str, _Compiled]
) -> list[_Looked]:
    """In the order of `compiled`, up to the first shape that could not be traced."""
    looked: list[_Looked] = []
    if not next(iter(compiled.values())).kernels:
        return looked
    with Tracer(sandbox) as tracer:
        tracer.start()
        try:
            tracer.load(problem, source)
            for of in compiled.values():
                trace = tracer.trace(problem, of.benchmark.dims, GPUS[TRACED])
                looked.append(_modelled(problem, of, trace))
        except SessionFailed as failure:
            remark = f"The kernels could not be traced. {failure.headline}"
            looked.append(_Looked(None, [], [remark]))
            return looked
        try:
            looked[0].maps = tracer.map(problem)
        except SessionFailed as failure:
            remark = f"What each program touches could not be mapped. {failure.headline}"
            looked[0].remarks.append(remark)
    return looked


def _modelled(problem: Problem, compiled: _Compiled, trace: Traced) -> _Looked:
    benchmark = compiled.benchmark
    there = [k for k in compiled.kernels if k.target == TRACED]
    grids = {k.name: math.prod(k.grid) for k in reversed(there)}
    if why := refusal(problem, benchmark.dims, trace, there):
        return _Looked(trace, [], [f"No time is modelled on {benchmark.model}: {why}."])
    cost = problem.cost(benchmark.dims)
    targets = dict.fromkeys(k.target for k in compiled.kernels)
    times = [
        modelled(GPUS[t], benchmark, cost, trace.traces, compiled.kernels, grids) for t in targets
    ]
    return _Looked(trace, [time for time in times if time], [])
