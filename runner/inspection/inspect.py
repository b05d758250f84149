"""Looking into one submission: from its source to an Inspection."""

from __future__ import annotations

from collections.abc import Sequence

from problems.spec import Benchmark, Problem
from runner.failures import SessionFailed
from runner.inspection.compiler import Compiler, specs_of
from runner.inspection.gpus import GPUS
from runner.inspection.kernels import kernel
from sandbox.spec import Sandbox
from wire.inspection import CompiledKernel, Inspection

# The benchmark shapes on which a kernel is compiled: those of GPUs, which are what it is written for.
SHAPES_OF = "gpu"
TARGETS = tuple(GPUS)


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
    """What the Triton kernels in `source` compile to on a benchmark shape (default: the first of GPUs).

    What the submission does wrong ends in a remark, never in an exception.

    Raises:
        UnknownTarget; SandboxUnavailable, HarnessBroken: judging itself failed.
    """
    if unknown := set(targets) - set(GPUS):
        raise UnknownTarget(f"{', '.join(sorted(unknown))}: there are {', '.join(GPUS)}")
    shape = benchmark or problem.benchmarks[SHAPES_OF][0]
    found, remarks = _compiled(problem, source, sandbox, targets, shape)
    return Inspection(
        problem=problem.slug,
        shape=shape.model,
        dims=dict(shape.dims),
        targets=tuple(targets),
        kernels=tuple(found),
        remarks=tuple(remarks),
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
