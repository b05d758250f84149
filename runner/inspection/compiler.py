"""Compiling a submission's kernels in a sandbox: what it launches on a shape, for each target.

The answer is data from an enemy, as everything is that shares a process with a submission: sizes are
bounded, and every field is read as what it should be or not at all.
"""

from __future__ import annotations

import base64
import json
import sys
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

import torch

from problems.pairs import functions_of
from problems.spec import Dims, Problem, lengths
from runner.conversation import Conversation
from runner.failures import SessionFailed, from_error, text
from runner.hardware import cpu_threads
from runner.memory import dtype_name
from runner.session import LOAD_SECONDS, harness_files, python_trees
from sandbox.spec import Job, Limits, Sandbox
from wire.gpus import Gpu
from wire.verdict import Verdict

TEXTS_BYTES = 64 << 20
COMPILE_SECONDS = 120.0
MOST_KERNELS = 12
# Evidence is the same each time; nobody gains by knowing what only a model is made of.
INTEGERS_SEED = 0
LIMITS = Limits(wall=300.0, cpu=900.0, memory=4 << 30)

Answer = dict[str, Any]
NOTHING: Mapping[str, Any] = MappingProxyType({})


class Looking:
    """One sandboxed process with one submission in it that is looked into. A context manager."""

    def __init__(
        self,
        sandbox: Sandbox,
        module: str,
        *,
        arenas: Mapping[str, int] = NOTHING,
        environment: Mapping[str, str] = NOTHING,
        trees: Sequence[Path] = (),
    ) -> None:
        self.running = sandbox.start(
            Job(
                argv=(sys.executable, "-B", "-s", "-m", f"harness.{module}"),
                files=harness_files(),
                trees=(*python_trees(), *trees),
                environment={
                    "LANG": "C.UTF-8",
                    "PYTHONPATH": "/job",
                    "PYTHONHASHSEED": "0",
                    "OMP_NUM_THREADS": str(cpu_threads()),
                    "TRITON_CACHE_DIR": "/tmp/triton",  # noqa: S108 - the job's own, private /tmp
                    **environment,
                },
                arenas=arenas,
                limits=LIMITS,
            )
        )
        self.conversation = Conversation(self.running)

    def start(self) -> None:
        """Wait until it has imported its libraries. Raises HarnessBroken."""
        self.conversation.start()

    def load(self, problem: Problem, source: str) -> None:
        """Import a submission. Raises SessionFailed when it cannot be imported."""
        functions = {f.name: f.parameters for f in functions_of(problem)}
        command = {"do": "load", "source": source, "functions": functions}
        reply, _ = self.conversation.ask(command, LOAD_SECONDS, "loading the file")
        if "error" in reply:
            raise from_error(reply, Verdict.COMPILE_ERROR, "The file could not be loaded")

    def __enter__(self) -> Self:
        self.conversation.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self.conversation.__exit__(*error)


class Compiler(Looking):
    """A process that compiles."""

    def __init__(self, sandbox: Sandbox) -> None:
        super().__init__(sandbox, "compile_main", arenas={"texts": TEXTS_BYTES})
        self._texts = self.running.arena("texts")

    def compile(
        self, specs: Sequence[Mapping[str, Any]], gpus: Sequence[Gpu], *, texts: bool = True
    ) -> tuple[list[Answer], list[str]]:
        """What is launched on arguments of `specs` on each GPU, compiled for it, as the process tells
        it, and its remarks; without `texts` what its figures are made of.

        Raises:
            SessionFailed: `backward` raised, or the process failed.
        """
        command = {
            "do": "compile",
            "specs": list(specs),
            "gpus": [plain(gpu) for gpu in gpus],
            "most": MOST_KERNELS,
            "texts": texts,
        }
        reply, _ = self.conversation.ask(command, COMPILE_SECONDS, "compiling")
        if "error" in reply:
            raise from_error(reply, Verdict.RUNTIME_ERROR, "backward raised an error")
        answer = handed_over(self._texts, reply)
        kernels = [k for k in _list(answer.get("kernels")) if isinstance(k, dict)]
        remarks = [text(r, 500) for r in _list(answer.get("remarks"))[:20]]
        left_out = answer.get("left_out")
        if isinstance(left_out, int) and left_out > 0:
            remarks.append(
                f"{left_out} more kernels are launched; the first {MOST_KERNELS} are shown"
            )
        return kernels[: MOST_KERNELS * len(gpus)], remarks

    def __exit__(self, *error: Any) -> None:
        self._texts.release()
        super().__exit__(*error)


def handed_over(memory: memoryview, reply: Mapping[str, Any]) -> Answer:
    """The object that the process wrote to shared memory, as `reply` says.

    Raises:
        SessionFailed: it was too long for it, or is no object.
    """
    if "too_long" in reply:
        raise SessionFailed(
            Verdict.INVALID_OUTPUT,
            f"What was found is longer than the {len(memory) >> 20} MiB that are shown.",
        )
    size = reply.get("bytes")
    if type(size) is not int or not 0 < size <= len(memory):
        raise SessionFailed(Verdict.INVALID_OUTPUT, "The process did not say what it found.")
    try:
        answer = json.loads(bytes(memory[:size]))
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        raise SessionFailed(Verdict.INVALID_OUTPUT, "The process sent something unreadable.")
    return answer


def plain(gpu: Gpu) -> dict[str, Any]:
    """What a launch may ask about a GPU."""
    kept = ("name", "capability", "multiprocessors", "registers", "shared_memory_of_block")
    return {name: getattr(gpu, name) for name in (*kept, "warps", "l2_bytes")}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def specs_of(problem: Problem, dims: Dims) -> list[dict[str, Any]]:
    """What a submission would get at this shape: name, dtype, shape and stride of each argument,
    contiguous; of integers the values, too, as base64 of their bytes, compressed. No buffers, since
    nothing is added up where time is measured."""
    integers = problem.make_integers(dims, INTEGERS_SEED)
    found: list[dict[str, Any]] = []
    for argument in problem.arguments:
        shape = lengths(argument.shape, dims)
        spec: dict[str, Any] = {
            "name": argument.name,
            "dtype": dtype_name(argument.dtype),
            "shape": list(shape),
            "stride": list(torch.empty(shape, device="meta").stride()),
        }
        if argument.name in integers:
            raw = integers[argument.name].contiguous().numpy().tobytes()
            spec["values"] = base64.b64encode(zlib.compress(raw, 1)).decode()
        found.append(spec)
    return found
