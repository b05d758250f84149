"""What the kernels of a submission move and compute at a benchmark shape, from programs run as samples.

Some programs of each launch run in the interpreter at the full size, on tensors without memory; what
they did is scaled to the whole grid. Bytes are counted as the kernel asks for them: loading a tensor
twice counts twice, whatever the caches absorb.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from problems.spec import Dims, Problem
from runner.failures import SessionFailed, from_error, text
from runner.inspection import mapping
from runner.inspection.compiler import Looking, plain, specs_of
from runner.inspection.gpus import Gpu
from sandbox.spec import Sandbox
from wire.access_maps import AccessMaps
from wire.inspection import Finding, TensorTraffic, Trace
from wire.verdict import Verdict

TRACE_SECONDS = 90.0
MOST_LAUNCHES = 64
_MOST_TENSORS = 40
_MOST_KINDS = 12


class Tracer(Looking):
    """A process that traces."""

    def __init__(self, sandbox: Sandbox) -> None:
        super().__init__(
            sandbox, "trace_main", arenas=mapping.ARENAS, environment={"TRITON_INTERPRET": "1"}
        )

    def trace(
        self, problem: Problem, dims: Dims, gpu: Gpu
    ) -> tuple[tuple[Trace, ...], tuple[Finding, ...]]:
        """One Trace for each launch, in order, and the lines on which 32-bit integers wrapped.

        Raises:
            SessionFailed: `backward` raised on tensors without values, or the process failed.
        """
        command = {"do": "trace", "specs": specs_of(problem, dims), "gpu": plain(gpu)}
        reply, _ = self.conversation.ask(command, TRACE_SECONDS, "tracing")
        if "error" in reply:
            raise from_error(reply, Verdict.RUNTIME_ERROR, "backward raised an error")
        launches = _list(reply.get("launches"))[:MOST_LAUNCHES]
        traces = tuple(_trace(told, dims) for told in launches if isinstance(told, dict))
        return traces, _wrapped(reply.get("wrapped"))

    def map(self, problem: Problem) -> AccessMaps:
        """Which parts of each tensor its programs touch, on a small case.

        Raises:
            SessionFailed: `backward` raised, or the process failed.
        """
        return mapping.mapped(problem, self.running, self.conversation)


@dataclass(frozen=True)
class Traced:
    """What was found. `remarks` say why traces are missing or mean less; `unmapped` why maps are."""

    traces: tuple[Trace, ...] = ()
    findings: tuple[Finding, ...] = ()
    remarks: tuple[str, ...] = ()
    maps: AccessMaps | None = None
    unmapped: tuple[str, ...] = ()


def traced(problem: Problem, source: str, sandbox: Sandbox, dims: Dims, gpu: Gpu) -> Traced:
    """What the submission does wrong ends in a remark."""
    with Tracer(sandbox) as tracer:
        tracer.start()
        try:
            tracer.load(problem, source)
            traces, findings = tracer.trace(problem, dims, gpu)
        except SessionFailed as failure:
            return Traced(remarks=(f"The kernels could not be traced. {failure.headline}",))
        found = Traced(traces, findings, _by_values(problem, traces))
        try:
            return replace(found, maps=tracer.map(problem))
        except SessionFailed as failure:
            why = f"What each program touches could not be mapped. {failure.headline}"
            return replace(found, unmapped=(why,))


def _by_values(problem: Problem, traces: Sequence[Trace]) -> tuple[str, ...]:
    """Said where integers that a kernel read decide what it touches: here they are all 0."""
    integers = [a.name for a in problem.arguments if not a.dtype.is_floating_point]
    if not integers or not traces:
        return ()
    return (
        f"Traced with zeros for {' and '.join(integers)}: what is read and written through them is not "
        "what real values would give, and no time is modelled.",
    )


def _trace(told: Mapping[str, Any], dims: Dims) -> Trace:
    programs = max(_number(told.get("programs")), 1)
    scale = programs / max(_number(told.get("sampled")), 1)
    tensors = tuple(
        _traffic(text(name, 200), of, scale)
        for name, of in list(_dict(told.get("tensors")).items())[:_MOST_TENSORS]
        if isinstance(of, dict)
    )
    flops = list(_dict(told.get("flops")).items())[:_MOST_KINDS]
    return Trace(
        kernel=text(told.get("kernel", ""), 200),
        shape=dict(dims),
        programs=programs,
        bytes=sum(t.loaded + t.stored for t in tensors),
        minimum_bytes=sum(t.minimum for t in tensors),
        sectors=sum(t.sectors for t in tensors),
        flops={text(kind, 40): round(_number(n) * scale) for kind, n in flops},
        tensors=tensors,
    )


def _traffic(name: str, told: Mapping[str, Any], scale: float) -> TensorTraffic:
    loaded = round(_number(told.get("loaded")) * scale)
    stored = round(_number(told.get("stored")) * scale)
    size = _number(told.get("size"))
    return TensorTraffic(
        tensor=name,
        loaded=loaded,
        stored=stored,
        minimum=min(loaded, size) + min(stored, size),
        sectors=round(_number(told.get("sectors")) * scale),
        atomics=round(_number(told.get("atomics")) * scale),
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
    return value if type(value) is int and 0 <= value < 1 << 62 else 0


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else []


def _dict(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
