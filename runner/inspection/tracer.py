"""What the kernels of a submission move and compute at a benchmark shape, from programs run as samples.

Some programs of each launch run in the interpreter at the full size, on floating tensors without memory
and integers with true values; what they did is scaled to the whole grid. Bytes are counted as the kernel
asks for them: loading a tensor twice counts twice, whatever the caches absorb. What is told here comes
from a process that the submission shares: `plausible` says what of it is believed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from problems.spec import Dims, Problem
from runner.failures import from_error, text
from runner.inspection import mapping
from runner.inspection.compiler import Looking, plain, specs_of
from sandbox.spec import Sandbox
from wire.access_maps import AccessMaps
from wire.gpus import Gpu
from wire.inspection import Finding, TensorTraffic, Trace
from wire.verdict import Verdict

TRACE_SECONDS = 150.0
MOST_TRACES = 96
# CUDA C++ Programming Guide, "Compute Capabilities": the largest sizes of a grid.
LARGEST_GRID = (2**31 - 1, 65535, 65535)
_MOST_TENSORS = 40
_MOST_KINDS = 12
# Of bytes or FLOPs of one launch: sums of these are still stored.
MOST = 1 << 53


@dataclass(frozen=True)
class Traced:
    """What one call of `backward` did, as its process tells it: `read` are bytes of each argument by
    kernels and operations together, `written` those of each gradient; `left_out` counts launches that
    were too many to be told."""

    traces: tuple[Trace, ...]
    findings: tuple[Finding, ...] = ()
    read: tuple[int, ...] = ()
    written: tuple[int, ...] = ()
    left_out: int = 0


class Tracer(Looking):
    """A process that traces."""

    def __init__(self, sandbox: Sandbox) -> None:
        super().__init__(
            sandbox, "trace_main", arenas=mapping.ARENAS, environment={"TRITON_INTERPRET": "1"}
        )

    def trace(self, problem: Problem, dims: Dims, gpu: Gpu) -> Traced:
        """The call at this shape; in it a Trace for each kernel and grid and each operation, and the
        lines on which 32-bit integers wrapped.

        Raises:
            SessionFailed: `backward` raised on tensors without values, or the process failed.
        """
        command = {"do": "trace", "specs": specs_of(problem, dims), "gpu": plain(gpu)}
        reply, _ = self.conversation.ask(command, TRACE_SECONDS, "tracing")
        if "error" in reply:
            raise from_error(reply, Verdict.RUNTIME_ERROR, "backward raised an error")
        launches = _list(reply.get("launches"))[:MOST_TRACES]
        return Traced(
            traces=tuple(_trace(told, dims) for told in launches if isinstance(told, dict)),
            findings=_wrapped(reply.get("wrapped")),
            read=_numbers(reply.get("read"), len(problem.arguments)),
            written=_numbers(reply.get("written"), len(problem.gradients)),
            left_out=_number(reply.get("left_out")),
        )

    def map(self, problem: Problem) -> AccessMaps:
        """Which parts of each tensor its programs touch, on a small case.

        Raises:
            SessionFailed: `backward` raised, or the process failed.
        """
        return mapping.mapped(problem, self.running, self.conversation)


def _trace(told: Mapping[str, Any], dims: Dims) -> Trace:
    tensors = tuple(
        _traffic(text(name, 200), of)
        for name, of in list(_dict(told.get("tensors")).items())[:_MOST_TENSORS]
        if isinstance(of, dict)
    )
    flops = list(_dict(told.get("flops")).items())[:_MOST_KINDS]
    return Trace(
        kernel=text(told.get("kernel", ""), 200),
        shape=dict(dims),
        programs=_programs(told.get("grid")),
        bytes=sum(t.loaded + t.stored for t in tensors),
        minimum_bytes=sum(t.minimum for t in tensors),
        sectors=sum(t.sectors for t in tensors),
        flops={text(kind, 40): _number(n) for kind, n in flops},
        tensors=tensors,
        launches=max(_number(told.get("launches")), 1),
    )


def _programs(grid: Any) -> int:
    """Of a grid that a GPU can launch; 0 of none, and of none that exists."""
    sizes = _list(grid)
    if len(sizes) != len(LARGEST_GRID):
        return 0
    for size, largest in zip(sizes, LARGEST_GRID, strict=True):
        if not 0 < _number(size) <= largest:
            return 0
    return math.prod(sizes)


def _traffic(name: str, told: Mapping[str, Any]) -> TensorTraffic:
    loaded, stored = _number(told.get("loaded")), _number(told.get("stored"))
    return TensorTraffic(
        tensor=name,
        loaded=loaded,
        stored=stored,
        minimum=min(_number(told.get("minimum")), loaded + stored),
        sectors=_number(told.get("sectors")),
        atomics=_number(told.get("atomics")),
    )


_WRAPPED = (
    "32-bit integers wrap round here at the benchmark shape: make the offset 64 bits wide, for example "
    "with pid.to(tl.int64)"
)


def _wrapped(told: Any) -> tuple[Finding, ...]:
    entries = [e for e in _list(told)[:20] if isinstance(e, list) and len(e) == 2]
    return tuple(
        Finding("int32_overflow", _WRAPPED, _number(line), kernel=text(kernel, 200))
        for line, kernel in entries
        if _number(line)
    )


def _number(value: Any) -> int:
    return value if type(value) is int and 0 <= value < MOST else 0


def _numbers(values: Any, count: int) -> tuple[int, ...]:
    """As many as there should be; what was not told is 0."""
    told = [_number(value) for value in _list(values)[:count]]
    return (*told, *[0] * (count - len(told)))


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else []


def _dict(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
