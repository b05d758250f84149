"""Looking into a `.cu` file: nvcc compiles it in a sandbox, nothing of it is run.

What is launched, with how many blocks and threads, is decided by host code and therefore unknown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from problems.spec import Problem
from runner.failures import SessionFailed, from_error, text
from runner.inspection.compiler import TEXTS_BYTES, Looking, handed_over
from runner.inspection.cuda_kernels import THREADS, kernels
from runner.inspection.toolkit import Toolkit, find_toolkit
from sandbox.spec import Sandbox
from wire.gpus import GPUS, Gpu
from wire.inspection import CompiledKernel, Inspection
from wire.verdict import Verdict

COMPILE_SECONDS = 260.0
MOST_KERNELS = 16
_ENTRY = re.compile(r'extern\s+"C"[^;{]*\bbackward\s*\(')
_NOT_RUN = (
    "CUDA C++ is compiled, never run: how many blocks and threads host code launches is unknown, and "
    "what the kernels compute is not checked. Where a kernel has no __launch_bounds__, occupancy is "
    f"that of blocks of {THREADS} threads without dynamic shared memory."
)
_NO_ENTRY = (
    'The file defines no extern "C" void backward(...), which takes device pointers, sizes and a '
    "stream: its kernels are shown all the same."
)


def inspect_cuda(
    problem: Problem, source: str, sandbox: Sandbox, *, targets: Sequence[str] = tuple(GPUS)
) -> Inspection:
    """What the kernels in `source` compile to. What is wrong with the file ends in a remark.

    Raises:
        NoToolkit: nvcc or g++ is missing; SandboxUnavailable, HarnessBroken: judging itself failed.
    """
    toolkit = find_toolkit()
    found, remarks = _compiled(source, sandbox, toolkit, [GPUS[target] for target in targets])
    if not _ENTRY.search(source):
        remarks.append(_NO_ENTRY)
    return Inspection(
        problem=problem.slug,
        problem_version=problem.version,
        shape="",
        dims={},
        targets=tuple(targets),
        kernels=tuple(found),
        remarks=(_NOT_RUN, *remarks),
    )


def _compiled(
    source: str, sandbox: Sandbox, toolkit: Toolkit, gpus: Sequence[Gpu]
) -> tuple[list[CompiledKernel], list[str]]:
    try:
        answer = _asked(source, sandbox, toolkit, gpus)
    except SessionFailed as failure:
        return [], [f"The file could not be compiled. {failure.headline}"]
    found: list[CompiledKernel] = []
    remarks: list[str] = []
    told = answer.get("targets")
    by_capability = {t.get("capability"): t for t in told if isinstance(t, dict)} if told else {}
    for gpu in gpus:
        result: Mapping[str, Any] = by_capability.get(gpu.capability, {})
        if "error" in result:
            words = text(result["error"], 4000)
            if not any(
                words in remark for remark in remarks
            ):  # most errors are those of every target
                remarks.append(f"The file does not compile for {gpu.target}:\n{words}")
            continue
        of_target = kernels(result, source, gpu)
        found += of_target[:MOST_KERNELS]
        if len(of_target) > MOST_KERNELS:
            remarks.append(f"The first {MOST_KERNELS} of {len(of_target)} kernels are shown.")
    if not found and not remarks:
        remarks.append("The file has no __global__ function, or only templates that nothing uses.")
    return found, list(dict.fromkeys(remarks))


def _asked(source: str, sandbox: Sandbox, toolkit: Toolkit, gpus: Sequence[Gpu]) -> dict[str, Any]:
    arenas = {"texts": TEXTS_BYTES}
    command = {
        "do": "compile",
        "source": source,
        "nvcc": str(toolkit.nvcc),
        "nvdisasm": str(toolkit.nvdisasm),
        # With the instructions that only this GPU's architecture has, as for the GPU it is.
        "targets": [{"capability": g.capability, "arch": _arch(g)} for g in gpus],
    }
    with Looking(sandbox, "nvcc_main", arenas=arenas, trees=toolkit.trees) as process:
        texts = process.running.arena("texts")
        try:
            process.start()
            reply, _ = process.conversation.ask(command, COMPILE_SECONDS, "compiling")
            if "error" in reply:
                raise from_error(reply, Verdict.COMPILE_ERROR, "The file could not be compiled")
            return handed_over(texts, reply)
        finally:
            texts.release()


def _arch(gpu: Gpu) -> str:
    return f"{gpu.target}a" if gpu.capability >= 90 else gpu.target
