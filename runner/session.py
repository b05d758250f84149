"""One sandboxed process that runs a submission, and the memory shared with it.

What it says is data from an enemy: replies are checked field by field, gradients are raw bytes of a
dtype and shape that the judge knows beforehand.
"""

from __future__ import annotations

import secrets
import sys
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import torch

from problems.pairs import Function, Given, Saved, functions_of, given, most_saved
from problems.spec import Dims, GradientSpec, Problem, Tensors
from runner.conversation import Conversation
from runner.failures import HarnessBroken, SessionFailed, from_error, text
from runner.hardware import HardwareSpec, cpu_threads
from runner.memory import (
    Capacity,
    arrangement,
    flat,
    layouts_of,
    places_of,
    raw_bytes,
    saved_room,
)
from runner.saved import read_saved
from sandbox.spec import Job, Limits, Sandbox
from wire.verdict import Verdict

HARNESS = Path(__file__).parent / "harness"
LOAD_SECONDS = 30.0
WATCHED_IS_SLOWER = 3.0
PING_SECONDS = 5.0
# Bytes of each gradient looked at the moment an answer comes: who writes them later is found out.
PROBES = 256
# How often the threads meet in one piece, and of how many pieces the median counts.
MEETINGS = 100
MEETING_PIECES = 5


@dataclass(frozen=True)
class Returned:
    """What a call handed over, and how long the judge waited for it in seconds.

    `gradients` is a snapshot that the sandbox can no longer change. `reported` is what the sandbox
    says the call alone took; `wall` includes handing over. `saved` is there if the function saves;
    of a pair as a whole `forward` is what its first half returned, and the times are of both.
    """

    gradients: tuple[torch.Tensor, ...]
    wall: float
    reported: float
    saved: Saved | None = None
    forward: Returned | None = None


def at_once() -> None:
    """Nothing has to happen before a call."""


def python_trees() -> tuple[Path, ...]:
    """Folders of this Python and its libraries, which a job sees read-only."""
    found = {Path(sys.prefix), Path(sys.base_prefix), Path(sysconfig.get_paths()["purelib"])}
    resolved = {p.resolve() for p in found} | found
    return tuple(sorted(p for p in resolved if not any(q in p.parents for q in resolved)))


def _drawn_below(size: int) -> torch.Tensor:
    """Places among `size` bytes that nobody can foresee."""
    drawn = torch.frombuffer(bytearray(secrets.token_bytes(8 * PROBES)), dtype=torch.int64)
    return drawn.remainder(size) if size else drawn[:0]


def harness_files() -> dict[str, bytes]:
    """The code of ours that runs inside a sandbox, as a job's files."""
    return {f"harness/{p.name}": p.read_bytes() for p in sorted(HARNESS.glob("*.py"))}


class Session:
    """One process for one submission. A context manager: leaving it leaves nothing behind.

    Starting it imports torch (and triton, with the interpreter made right), which takes seconds and
    needs no submission: a session may wait, warm, until there is one.
    """

    _problem: Problem
    _function: Function
    _most: int | None  # bytes that the function may save
    _saved_from: int
    _given: list[tuple[str, int, torch.Tensor]]
    _probes: list[tuple[memoryview, torch.Tensor]]

    def __init__(
        self,
        sandbox: Sandbox,
        hardware: HardwareSpec,
        *,
        limits: Limits,
        trees: tuple[Path, ...] = (),
        ending: Callable[[Callable[[], None]], None] = lambda end: end(),
    ) -> None:
        """`ending` has the process ended when the session is left, at once or a little later."""
        capacity = Capacity.for_any_problem(hardware.name)
        self._hardware = hardware
        self._ending = ending
        self._wanted: list[dict[str, Any]] = []
        running = sandbox.start(
            Job(
                argv=(sys.executable, "-B", "-s", "-m", "harness.main"),
                files=harness_files(),
                trees=(*python_trees(), *trees),
                environment=self._environment(sandbox),
                arenas={"inputs": capacity.inputs, "outputs": capacity.outputs},
                limits=limits,
            )
        )
        self._conversation = Conversation(running)
        self._inputs = running.arena("inputs")
        self._outputs = running.arena("outputs")

    def _environment(self, sandbox: Sandbox) -> Mapping[str, str]:
        threads = str(cpu_threads())
        own = dict(self._hardware.environment)
        if not sandbox.isolation.binds_threads:
            own.pop("OMP_PROC_BIND", None)  # a thread that cannot be bound is not started at all
        return {
            "LANG": "C.UTF-8",
            "PYTHONPATH": "/job",
            "PYTHONHASHSEED": "0",
            "OMP_NUM_THREADS": threads,
            "TRITON_CACHE_DIR": "/tmp/triton",  # noqa: S108 - the job's own, private /tmp
            **own,
        }

    def start(self) -> None:
        """Wait until the harness has imported its libraries. Raises HarnessBroken."""
        self._conversation.start()

    def load(self, problem: Problem, source: str, beside: Sequence[Function] = ()) -> None:
        """Import a submission to `problem`; a file of ours may have functions `beside` those asked for.

        Raises:
            SessionFailed: with a compile error, or what else importing it led to.
        """
        self._problem = problem
        functions = {f.name: f.parameters for f in (*functions_of(problem), *beside)}
        reply, _ = self._conversation.ask(
            {"do": "load", "source": source, "functions": functions},
            LOAD_SECONDS,
            "loading the file",
        )
        if "error" in reply:
            raise from_error(reply, Verdict.COMPILE_ERROR, "The file could not be loaded")

    def load_baseline(self, problem: Problem, source: str) -> None:
        """Import the plain PyTorch backward."""
        self.load(problem, source)

    def keep_memory(self, amount: int) -> None:
        """Have the process take `amount` bytes from the kernel and give them back to its allocator.

        What calls need later lies there already if the hardware's environment says that freed memory is
        kept. Raises SessionFailed.
        """
        self._conversation.ask(
            {"do": "keep", "bytes": amount}, self._hardware.call_seconds, "taking memory"
        )

    def seconds_to_meet(self) -> float:
        """Seconds in which the process shares out a little work among its threads MEETINGS times: how
        long they take to hear of each other. Only a process that is trusted should be asked."""
        reply, _ = self._conversation.ask(
            {"do": "meet", "meetings": MEETINGS, "pieces": MEETING_PIECES},
            self._hardware.call_seconds,
            "having its threads meet",
        )
        seconds: float = reply["seconds"]
        return seconds

    def prepare(self, arguments: Tensors, dims: Dims) -> None:
        """`prepare_call` of `backward`, for a problem in which that is all there is."""
        function = functions_of(self._problem)[-1]
        self.prepare_call(function, given(function, arguments), dims)

    def prepare_call(self, function: Function, handed: Given, dims: Dims) -> None:
        """Announce the arguments of `function`, then write them, and poison the memory where what it
        returns at that shape will lie. The process is stopped then: it sees their values first in the
        call."""
        self._function = function
        layouts, needed = layouts_of(tensors := flat(handed))
        if needed > len(self._inputs):
            raise HarnessBroken(
                f"the arguments need {needed} bytes of {len(self._inputs)} shared ones"
            )
        self._wanted, handed_over = places_of(function.outputs, dims, layouts)
        self._most = most_saved(self._problem, dims) if function.saves else None
        room = handed_over + (saved_room(self._problem, dims) if function.saves else 0)
        if room > len(self._outputs):
            raise HarnessBroken(
                f"the gradients need {room} bytes of {len(self._outputs)} shared ones"
            )
        self._saved_from = handed_over
        self._conversation.ask(
            {
                "do": "prepare",
                "function": function.name,
                "takes": arrangement(handed),
                "inputs": layouts,
                "outputs": self._wanted,
                "saved_from": handed_over,
                "most_saved": self._most,
            },
            self._hardware.call_seconds,
            "taking its arguments",
        )
        self._given = [
            (layout["name"], layout["offset"], raw_bytes(tensor))
            for layout, tensor in zip(layouts, tensors.values(), strict=True)
        ]
        shared = torch.frombuffer(self._inputs, dtype=torch.uint8)
        for _, offset, raw in self._given:
            shared[offset : offset + len(raw)] = raw
        # All bits set is NaN in every floating dtype: what is not written shows.
        torch.frombuffer(self._outputs, dtype=torch.uint8)[:handed_over].fill_(0xFF)
        self._probes = [
            (self._memory_of(want), want["offset"] + _drawn_below(want["bytes"]))
            for want in self._wanted
        ]

    def call(self, before: Callable[[], None] = at_once) -> Returned:
        """Run the prepared function on the prepared arguments, and `before` just ahead of it.

        Raises:
            SessionFailed: it raised, died, took too long, or returned something else than asked for.
        """
        name = self._function.name
        before()
        seen: list[list[bytes]] = []
        reply, wall = self._conversation.ask(
            {"do": "call"},
            self._hardware.call_seconds,
            f"one call of {name}",
            lambda: seen.append(self._probed()),
        )
        if "error" in reply:
            raise from_error(reply, Verdict.RUNTIME_ERROR, f"{name} raised an error")
        if "invalid" in reply:
            said = text(reply["invalid"], 500) + self._untouched_buffers()
            raise SessionFailed(Verdict.INVALID_OUTPUT, said)
        reported = reply.get("seconds")
        if not isinstance(reported, float) or not 0 <= reported < float("inf"):
            raise SessionFailed(
                Verdict.INVALID_OUTPUT, "The process did not say how the call ended."
            )
        if seen[0] != self._probed():
            raise SessionFailed(
                Verdict.INVALID_OUTPUT,
                f"{'The output' if self._function.saves else 'The gradients'} still changed after "
                f"{name} had returned: finish all work before.",
            )
        gradients = tuple(
            self._snapshot(want, spec)
            for want, spec in zip(self._wanted, self._function.outputs, strict=True)
        )
        saved = None
        if self._most is not None:
            saved = read_saved(reply.get("saved"), self._outputs, self._saved_from, self._most)
        return Returned(gradients=gradients, wall=wall, reported=reported, saved=saved)

    def _memory_of(self, want: Mapping[str, Any]) -> memoryview:
        """The shared memory in which a gradient lies."""
        return self._inputs if want["buffer"] else self._outputs

    def _snapshot(self, want: Mapping[str, Any], spec: GradientSpec) -> torch.Tensor:
        begin = want["offset"]
        raw = bytearray(self._memory_of(want)[begin : begin + want["bytes"]])
        if not raw:
            return torch.empty(want["shape"], dtype=spec.dtype)
        return torch.frombuffer(raw, dtype=spec.dtype).reshape(want["shape"])

    def _probed(self) -> list[bytes]:
        """Bytes at places of the gradients that the process cannot know."""
        return [
            torch.frombuffer(memory, dtype=torch.uint8)[places].numpy().tobytes()
            for memory, places in self._probes
        ]

    def call_under(self, arguments: Tensors, dims: Dims) -> Returned:
        """Prepare and call. A pair does not run `forward` again for another upstream gradient."""
        self.prepare(arguments, dims)
        return self.call()

    def _changed(self) -> list[str]:
        """The arguments that are not as they were handed over."""
        shared = torch.frombuffer(self._inputs, dtype=torch.uint8)
        return [
            name
            for name, offset, raw in self._given
            if not torch.equal(shared[offset : offset + len(raw)], raw)
        ]

    @property
    def _buffers(self) -> set[str]:
        return {want["buffer"] for want in self._wanted if want["buffer"]}

    def _untouched_buffers(self) -> str:
        """What to say of buffers that were to be added to and hold what they held before."""
        untouched = sorted(self._buffers - set(self._changed()))
        return f" ({' and '.join(untouched)}: nothing was added)" if untouched else ""

    def check_unmodified(self) -> None:
        """Raises SessionFailed when the last call changed arguments other than buffers to add to."""
        modified = [name for name in self._changed() if name not in self._buffers]
        if modified:
            raise SessionFailed(
                Verdict.INVALID_OUTPUT,
                f"{self._function.name} changed its argument {', '.join(modified)}. Arguments are still "
                "needed by others: write into memory of your own.",
            )

    def watch(self) -> dict[str, Any]:
        """Run the function on copies of the prepared arguments while its kernels are watched.

        Only where kernels are interpreted. Returns what the process tells, unread.

        Raises:
            SessionFailed: it died or took too long.
        """
        seconds = WATCHED_IS_SLOWER * self._hardware.call_seconds
        reply, _ = self._conversation.ask(
            {"do": "watch"}, seconds, f"one watched call of {self._function.name}"
        )
        return reply

    def printed(self) -> str:
        return self._conversation.printed()

    def alive(self) -> bool:
        """Whether the process still answers."""
        try:
            reply, _ = self._conversation.ask({"do": "ping"}, PING_SECONDS, "answering")
        except SessionFailed:
            return False
        return reply == {"alive": True}

    def __enter__(self) -> Self:
        self._conversation.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._inputs.release()
        self._outputs.release()
        self._ending(lambda: self._conversation.__exit__(kind, error, trace))
