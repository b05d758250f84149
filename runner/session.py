"""A conversation with one sandboxed process that runs a submission.

Everything the process says is parsed as data from an enemy: lengths are bounded, JSON is checked field
by field, gradients are raw bytes of a dtype and shape that the judge knows beforehand.
"""

from __future__ import annotations

import json
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

from problems.spec import Dims, GradientSpec, Problem, Tensors
from runner.failures import HarnessBroken, SessionFailed, from_ending, from_error, text
from runner.hardware import HardwareSpec, cpu_threads
from runner.memory import Capacity, layouts_of, places_of, raw_bytes
from sandbox.spec import DeadlinePassed, Job, JobEnded, Limits, Running, Sandbox
from wire.verdict import Verdict

HARNESS = Path(__file__).parent / "harness"
START_SECONDS = 60.0
LOAD_SECONDS = 30.0
PING_SECONDS = 5.0
# Bytes of the gradients looked at the moment an answer comes: who writes them later is found out.
PROBES = 256
_LONGEST_MESSAGE = 256 << 10
_LENGTH = struct.Struct(">I")


@dataclass(frozen=True)
class Returned:
    """What a call handed over, and how long the judge waited for it in seconds.

    `gradients` is a snapshot that the sandbox can no longer change. `reported` is what the sandbox
    says the call alone took; `wall` includes handing over.
    """

    gradients: tuple[torch.Tensor, ...]
    wall: float
    reported: float


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
            raise from_error(reply, Verdict.COMPILE_ERROR, "The file could not be loaded")

    def prepare(self, arguments: Tensors, dims: Dims) -> None:
        """Announce `arguments`, then write them, and poison the memory where the gradients of that
        shape will lie. The process is stopped then: it sees their values first in the call."""
        layouts, needed = layouts_of(arguments)
        if needed > len(self._inputs):
            raise HarnessBroken(
                f"the arguments need {needed} bytes of {len(self._inputs)} shared ones"
            )
        self._wanted, handed_over = places_of(self._problem, dims)
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
            (layout["name"], layout["offset"], raw_bytes(tensor))
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
            raise from_error(reply, Verdict.RUNTIME_ERROR, "backward raised an error")
        if "invalid" in reply:
            raise SessionFailed(Verdict.INVALID_OUTPUT, text(reply["invalid"], 500))
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
            raise from_ending(self._running.kill(), doing) from None
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
