"""Looking into one submission: from its source to an Inspection."""

from __future__ import annotations

from collections.abc import Sequence

from problems.spec import Benchmark, Problem
from runner.failures import SessionFailed
from runner.inspection.compiler import Compiler, specs_of
from runner.inspection.gpus import GPUS
from runner.inspection.kernels import kernel
from runner.inspection.model import modelled
from runner.inspection.tracer import Traced, traced
from sandbox.spec import Sandbox
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
) -> Inspection:
    """What the Triton kernels in `source` compile to on a benchmark shape (default: the first of GPUs),
    and, where TRACED is among the targets, what they move and compute there and a modelled time.

    What the submission does wrong ends in a remark, never in an exception.

    Raises:
        UnknownTarget; SandboxUnavailable, HarnessBroken: judging itself failed.
    """
    if unknown := set(targets) - set(GPUS):
        raise UnknownTarget(f"{', '.join(sorted(unknown))}: there are {', '.join(GPUS)}")
    shape = benchmark or problem.benchmarks[SHAPES_OF][0]
    found, remarks = _compiled(problem, source, sandbox, targets, shape)
    looked = Traced()
    models: tuple[ModelledTime, ...] = ()
    if found and TRACED in targets:
        gpu = GPUS[TRACED]
        looked = traced(problem, source, sandbox, shape.dims, gpu)
        remarks += (*looked.remarks, *looked.unmapped)
        if not looked.remarks:  # what was traced is what happens
            time = modelled(gpu, shape.model, problem.cost(shape.dims), looked.traces, found)
            models = (time,) if time else ()
    return Inspection(
        problem=problem.slug,
        shape=shape.model,
        dims=dict(shape.dims),
        targets=tuple(targets),
        kernels=tuple(found),
        traces=looked.traces,
        findings=looked.findings,
        models=models,
        remarks=tuple(remarks),
        maps=looked.maps,
    )


def _compiled(
    problem: Problem, source: str, sandbox: Sandbox, targets: Sequence[str], shape: Benchmark
) -> tuple[list[CompiledKernel], list[str]]:
    with Compiler(sandbox) as compiler:
        compiler.start()
        try:
            compiler.load(problem, source)
            told, remarks = compiler.compile(
                specs_of(problem, shape.dims), [GPUS[t] for t in targets]
            )
        except SessionFailed as failure:
            return [], [f"The kernels could not be compiled. {failure.headline}"]
    if not told:
        remarks.append("backward launches no Triton kernel.")
    found = [kernel(answer) for answer in told]
    return [k for k in found if k is not None], remarks
