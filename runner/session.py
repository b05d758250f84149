"""A conversation with one sandboxed process that runs a submission.

Everything the process says is parsed as data from an enemy: lengths are bounded, JSON is checked field
by field, gradients are raw bytes of a dtype and shape that the judge knows beforehand.
"""

from __future__ import annotations

import json
import math
import secrets
import struct
import sys
import sysconfig
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import torch

from problems import all_problems
from problems.spec import Dims, GradientSpec, Problem, Tensors
from runner.drawing import largest
from runner.hardware import HardwareSpec, cpu_threads
from sandbox.output import harmless
from sandbox.spec import DeadlinePassed, Ending, Job, JobEnded, Limits, Running, Sandbox
from wire.verdict import SourceError, Verdict

HARNESS = Path(__file__).parent / "harness"
START_SECONDS = 60.0
LOAD_SECONDS = 30.0
PING_SECONDS = 5.0
# Bytes of the gradients looked at the moment an answer comes: who writes them later is found out.
PROBES = 256
_ALIGNMENT = 64
# Elements by which a row's storage may be wider than the row, under any layout.
_ROW_SLACK = 64
_LONGEST_MESSAGE = 256 << 10
_LENGTH = struct.Struct(">I")


class SessionFailed(Exception):
    """The submission did not do what it was asked; carries the verdict that follows."""

    def __init__(self, verdict: Verdict, headline: str, error: SourceError | None = None) -> None:
        super().__init__(headline)
        self.verdict = verdict
        self.headline = headline
        self.error = error


class HarnessBroken(RuntimeError):
    """The sandbox or our own code in it failed before the submission ran: a judge failure."""


@dataclass(frozen=True)
class Returned:
    """What a call handed over, and how long the judge waited for it in seconds.

    `gradients` is a snapshot that the sandbox can no longer change. `reported` is what the sandbox
    says the call alone took; `wall` includes handing over.
    """

    gradients: tuple[torch.Tensor, ...]
    wall: float
    reported: float


@dataclass(frozen=True)
class Capacity:
    """Bytes that the shared memories hold. Memory is used only where something was written."""

    inputs: int
    outputs: int

    @classmethod
    def for_any_problem(cls, hardware: str) -> Capacity:
        """Room for the largest call of any problem on `hardware`."""
        shapes = [
            (problem, dims)
            for problem in all_problems()
            for dims in (
                *(largest(c.dims) for c in problem.cases),
                *(b.dims for b in problem.benchmarks.get(hardware, ())),
            )
        ]
        return cls(
            inputs=max(_inputs_size(problem, dims) for problem, dims in shapes),
            outputs=max(_outputs_size(problem, dims) for problem, dims in shapes),
        )


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _inputs_size(problem: Problem, dims: Dims) -> int:
    """An upper bound: a case may hand over slices of wider storages."""
    shapes = (tuple(dims[d] for d in a.shape) for a in problem.arguments)
    sizes = (math.prod(shape[:-1]) * (shape[-1] + _ROW_SLACK) if shape else 1 for shape in shapes)
    return sum(
        _aligned(size * a.dtype.itemsize) for size, a in zip(sizes, problem.arguments, strict=True)
    )


def _outputs_size(problem: Problem, dims: Dims) -> int:
    return problem.output_bytes(dims) + _ALIGNMENT * len(problem.gradients)


def python_trees() -> tuple[Path, ...]:
    """Folders of this Python and its libraries, which a job sees read-only."""
    found = {Path(sys.prefix), Path(sys.base_prefix), Path(sysconfig.get_paths()["purelib"])}
    resolved = {p.resolve() for p in found} | found
    return tuple(sorted(p for p in resolved if not any(q in p.parents for q in resolved)))


class Session:
    """One process for one submission. A context manager: leaving it leaves nothing behind.

    Starting it imports torch (and triton, with the interpreter made right), which takes seconds and
    needs no submission: a session may wait, warm, until there is one.
    """

    _problem: Problem
    _given: list[tuple[str, int, torch.Tensor]]
    _probes: torch.Tensor

    def __init__(
        self,
        sandbox: Sandbox,
        hardware: HardwareSpec,
        *,
        limits: Limits,
        trees: tuple[Path, ...] = (),
    ) -> None:
        capacity = Capacity.for_any_problem(hardware.name)
        self._hardware = hardware
        self._wanted: list[dict[str, Any]] = []
        self._running: Running = sandbox.start(
            Job(
                argv=(sys.executable, "-B", "-s", "-m", "harness.main"),
                files={f"harness/{p.name}": p.read_bytes() for p in sorted(HARNESS.glob("*.py"))},
                trees=(*python_trees(), *trees),
                environment=self._environment(),
                arenas={"inputs": capacity.inputs, "outputs": capacity.outputs},
                limits=limits,
            )
        )
        self._inputs = self._running.arena("inputs")
        self._outputs = self._running.arena("outputs")

    def _environment(self) -> Mapping[str, str]:
        threads = str(cpu_threads())
        return {
            "LANG": "C.UTF-8",
            "PYTHONPATH": "/job",
            "PYTHONHASHSEED": "0",
            "OMP_NUM_THREADS": threads,
            # Idle threads that spin would slow whatever is timed next.
            "OMP_WAIT_POLICY": "PASSIVE",
            "TRITON_CACHE_DIR": "/tmp/triton",  # noqa: S108 - the job's own, private /tmp
            **self._hardware.environment,
        }

    def start(self) -> None:
        """Wait until the harness has imported its libraries.

        Raises:
            HarnessBroken: it could not.
        """
        try:
            reply = self._read_message(time.monotonic() + START_SECONDS)
        except (JobEnded, DeadlinePassed) as error:
            ending = self._running.kill()
            raise HarnessBroken(
                f"the sandboxed process did not start ({ending}): {self._running.printed()[-2000:]}"
            ) from error
        if reply != {"ready": True}:
            raise HarnessBroken(f"the sandboxed process began with {str(reply)[:200]}")

    def load(self, problem: Problem, source: str) -> None:
        """Import a submission to `problem`.

        Raises:
            SessionFailed: with a compile error, or what else importing it led to.
        """
        self._problem = problem
        names = [a.name for a in problem.arguments]
        reply, _ = self._ask(
            {"do": "load", "source": source, "arguments": names}, LOAD_SECONDS, "loading the file"
        )
        if "error" in reply:
            raise _from_error(reply, Verdict.COMPILE_ERROR, "The file could not be loaded")

    def prepare(self, arguments: Tensors, dims: Dims) -> None:
        """Announce `arguments`, then write them, and poison the memory where the gradients of that
        shape will lie. The process is stopped then: it sees their values first in the call."""
        layouts, needed = _layouts(arguments)
        if needed > len(self._inputs):
            raise HarnessBroken(
                f"the arguments need {needed} bytes of {len(self._inputs)} shared ones"
            )
        self._wanted, handed_over = _places(self._problem, dims)
        if handed_over > len(self._outputs):
            raise HarnessBroken(
                f"the gradients need {handed_over} bytes of {len(self._outputs)} shared ones"
            )
        self._ask(
            {"do": "prepare", "inputs": layouts, "outputs": self._wanted},
            self._hardware.call_seconds,
            "taking its arguments",
        )
        self._given = [
            (layout["name"], layout["offset"], _raw(tensor))
            for layout, tensor in zip(layouts, arguments.values(), strict=True)
        ]
        shared = torch.frombuffer(self._inputs, dtype=torch.uint8)
        for _, offset, raw in self._given:
            shared[offset : offset + len(raw)] = raw
        # All bits set is NaN in every floating dtype: what is not written shows.
        torch.frombuffer(self._outputs, dtype=torch.uint8)[:handed_over].fill_(0xFF)
        self._probes = torch.tensor(
            [secrets.randbelow(handed_over) for _ in range(PROBES)] if handed_over else [],
            dtype=torch.int64,
        )

    def call(self) -> Returned:
        """Run `backward` on the prepared arguments.

        Raises:
            SessionFailed: it raised, died, took too long, or returned something else than asked for.
        """
        seen: list[torch.Tensor] = []
        reply, wall = self._ask(
            {"do": "call"},
            self._hardware.call_seconds,
            "one call of backward",
            lambda: seen.append(self._probed()),
        )
        if "error" in reply:
            raise _from_error(reply, Verdict.RUNTIME_ERROR, "backward raised an error")
        if "invalid" in reply:
            raise SessionFailed(Verdict.INVALID_OUTPUT, _text(reply["invalid"], 500))
        reported = reply.get("seconds")
        if not isinstance(reported, float) or not 0 <= reported < float("inf"):
            raise SessionFailed(
                Verdict.INVALID_OUTPUT, "The process did not say how the call ended."
            )
        if not torch.equal(seen[0], self._probed()):
            raise SessionFailed(
                Verdict.INVALID_OUTPUT,
                "The gradients still changed after backward had returned: finish all work before.",
            )
        gradients = tuple(
            self._snapshot(want, spec)
            for want, spec in zip(self._wanted, self._problem.gradients, strict=True)
        )
        return Returned(gradients=gradients, wall=wall, reported=reported)

    def _snapshot(self, want: Mapping[str, Any], spec: GradientSpec) -> torch.Tensor:
        begin = want["offset"]
        raw = bytearray(self._outputs[begin : begin + want["bytes"]])
        if not raw:
            return torch.empty(want["shape"], dtype=spec.dtype)
        return torch.frombuffer(raw, dtype=spec.dtype).reshape(want["shape"])

    def _probed(self) -> torch.Tensor:
        """Bytes at places of the gradients that the process cannot know."""
        return torch.frombuffer(self._outputs, dtype=torch.uint8)[self._probes]

    def check_unmodified(self) -> None:
        """Raises SessionFailed when the last call changed its arguments."""
        shared = torch.frombuffer(self._inputs, dtype=torch.uint8)
        modified = [
            name
            for name, offset, raw in self._given
            if not torch.equal(shared[offset : offset + len(raw)], raw)
        ]
        if modified:
            raise SessionFailed(
                Verdict.INVALID_OUTPUT,
                f"backward changed its argument {', '.join(modified)}. Arguments are still needed by "
                "others: write into memory of your own.",
            )

    def printed(self) -> str:
        return self._running.printed()

    def alive(self) -> bool:
        """Whether the process still answers."""
        try:
            reply, _ = self._ask({"do": "ping"}, PING_SECONDS, "answering")
        except SessionFailed:
            return False
        return reply == {"alive": True}

    def _ask(
        self,
        command: Mapping[str, Any],
        seconds: float,
        doing: str,
        at_once: Callable[[], None] = lambda: None,
    ) -> tuple[dict[str, Any], float]:
        """Send `command`; the reply, and the seconds until it was there by the judge's clock.

        The process runs only meanwhile. `at_once` is called when the reply is there, before the
        process is stopped.
        """
        token = secrets.token_hex(8)
        body = json.dumps({**command, "token": token}).encode()
        deadline = time.monotonic() + seconds
        try:
            begin = time.perf_counter()
            self._running.resume()
            self._running.write(_LENGTH.pack(len(body)) + body, deadline)
            reply = self._read_message(deadline)
            wall = time.perf_counter() - begin
            at_once()
            self._running.pause()
        except DeadlinePassed:
            self._running.kill()
            raise SessionFailed(
                Verdict.TIMED_OUT, f"Stopped after {seconds:g} s: {doing} took too long."
            ) from None
        except JobEnded:
            raise _from_ending(self._running.kill(), doing) from None
        if reply.pop("token", None) != token:
            raise SessionFailed(
                Verdict.INVALID_OUTPUT, "The process answered something that was not asked."
            )
        return reply, wall

    def _read_message(self, deadline: float) -> dict[str, Any]:
        size = _LENGTH.unpack(self._running.read(_LENGTH.size, deadline))[0]
        if size > _LONGEST_MESSAGE:
            raise SessionFailed(
                Verdict.INVALID_OUTPUT, "The process sent a message that is too long."
            )
        body = self._running.read(size, deadline)
        try:
            message = json.loads(body)
        except (ValueError, RecursionError):
            message = None
        if not isinstance(message, dict):
            raise SessionFailed(Verdict.INVALID_OUTPUT, "The process sent something unreadable.")
        return message

    def __enter__(self) -> Self:
        self._running.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._inputs.release()
        self._outputs.release()
        self._running.__exit__(kind, error, trace)


def _dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _text(value: Any, longest: int) -> str:
    """`value` as text that can be stored and shown, whatever the process put into it."""
    return harmless(str(value)[:longest].encode("utf-8", errors="replace"))


def _raw(tensor: torch.Tensor) -> torch.Tensor:
    """The bytes of a tensor's whole storage."""
    return torch.empty(0, dtype=torch.uint8).set_(tensor.untyped_storage())


def _layouts(arguments: Tensors) -> tuple[list[dict[str, Any]], int]:
    """Where each argument's storage will lie in the shared memory, and the bytes they all need."""
    offset = 0
    layouts = []
    for name, tensor in arguments.items():
        size = tensor.untyped_storage().nbytes()
        layouts.append(
            {
                "name": name,
                "dtype": _dtype_name(tensor.dtype),
                "shape": list(tensor.shape),
                "stride": list(tensor.stride()),
                "storage_offset": tensor.storage_offset(),
                "offset": offset,
                "bytes": size,
            }
        )
        offset += _aligned(size)
    return layouts, offset


def _places(problem: Problem, dims: Dims) -> tuple[list[dict[str, Any]], int]:
    """Where each gradient will lie in the shared memory, and the bytes they all need."""
    offset = 0
    places = []
    for gradient in problem.gradients:
        shape = problem.gradient_shape(gradient, dims)
        size = torch.Size(shape).numel() * gradient.dtype.itemsize
        places.append(
            {
                "name": gradient.name,
                "dtype": _dtype_name(gradient.dtype),
                "shape": list(shape),
                "offset": offset,
                "bytes": size,
            }
        )
        offset += _aligned(size)
    return places, offset


def _from_error(reply: Mapping[str, Any], verdict: Verdict, what: str) -> SessionFailed:
    told = reply["error"] if isinstance(reply["error"], dict) else {}
    line = told.get("line")
    error = SourceError(
        kind=_text(told.get("kind", ""), 200),
        message=_text(told.get("message", ""), 8000),
        traceback=_text(told.get("traceback", ""), 8000),
        line=line if type(line) is int and 0 < line < 10**6 else None,
    )
    if reply.get("memory") is True:
        return SessionFailed(Verdict.OUT_OF_MEMORY, "The submission ran out of memory.", error)
    at = f" at line {error.line}" if error.line else ""
    first = error.message.splitlines()[0][:200] if error.message else ""
    return SessionFailed(verdict, f"{what}{at}: {error.kind}: {first}", error)


def _from_ending(ending: Ending, doing: str) -> SessionFailed:
    if ending.out_of_memory:
        return SessionFailed(Verdict.OUT_OF_MEMORY, f"The process used too much memory: {doing}.")
    if ending.timed_out:
        return SessionFailed(
            Verdict.TIMED_OUT, f"The process ran into the job's time limit: {doing}."
        )
    if ending.signal is not None:
        hint = " (a read or write far outside of a tensor does this)" if ending.signal == 11 else ""
        return SessionFailed(
            Verdict.RUNTIME_ERROR,
            f"The process was ended by signal {ending.signal}{hint}: {doing}.",
        )
    return SessionFailed(
        Verdict.RUNTIME_ERROR,
        f"The process ended by itself (exit code {ending.exit_code}) instead of returning: {doing}.",
    )
