"""Where sessions come from: started when asked for, or warm and waiting.

A session serves one submission and is thrown away. What makes it slow to start is importing torch and
triton, which can be done before there is a submission: `WarmPool` starts the next one when a job is
over, so that nobody waits for an import unless jobs come faster than sessions start, and no import
disturbs a job that runs.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from problems import Problem
from runner.answering import Answering
from runner.hardware import HardwareSpec
from runner.pair_session import PairSession
from runner.session import Session
from sandbox.spec import Limits, Sandbox

log = logging.getLogger(__name__)

JOB_LIMITS = Limits(wall=420.0, cpu=1600.0, memory=6 << 30, file_size=1 << 30)
# A session that waited longer than this is replaced: its wall clock runs while it waits.
LONGEST_WAIT = 900.0
# A pair takes two at once, and its baseline one.
WAITING, BASELINES_WAITING = 2, 1
_PROBLEMS = Path(__file__).parents[1] / "problems"
# Loaded from its folder, since not every sandbox lets a job list the folder above.
_BASELINE = """\
import importlib.util
import sys

found = importlib.util.spec_from_file_location("problems", {folder!r} + "/__init__.py")
sys.modules["problems"] = importlib.util.module_from_spec(found)
found.loader.exec_module(sys.modules["problems"])
problem = sys.modules["problems"].get_problem({slug!r})
backward = problem.baseline
if problem.pair is not None:
    forward, backward = problem.pair.forward, problem.pair.backward


def hand_over(y, saved):
    return y.clone(), saved
"""


def baseline_source(problem: Problem) -> str:
    """The file by which a baseline session runs the plain PyTorch backward of `problem`."""
    return _BASELINE.format(folder=str(_PROBLEMS), slug=problem.slug)


class Sessions(Protocol):
    """A source of ready sessions. Whoever takes one uses it as a context manager."""

    sandbox: Sandbox

    def take(self, hardware: HardwareSpec) -> Session:
        """A session for one submission.

        Raises:
            SandboxUnavailable, HarnessBroken: none can be started.
        """

    def take_baseline(self, hardware: HardwareSpec) -> Session:
        """A session that may also see `problems`, for the trusted baseline. Raises as `take` does."""

    def settle(self) -> None:
        """Return when nothing is being started: what is timed next is not disturbed."""

    def refill(self) -> None:
        """The job is over: there is time to start what the next one will take."""


def taken(sessions: Sessions, hardware: HardwareSpec, problem: Problem) -> Answering:
    """What a submission to `problem` needs: a session, or two for a pair. Raises as `take` does."""
    first = sessions.take(hardware)
    if problem.pair is None:
        return first
    try:
        return PairSession(first, sessions.take(hardware))
    except BaseException:
        first.__exit__(None, None, None)
        raise


def taken_baseline(sessions: Sessions, hardware: HardwareSpec, problem: Problem) -> Answering:
    """What the plain PyTorch backward, or pair, of `problem` needs. Raises as `take` does."""
    session = sessions.take_baseline(hardware)
    return session if problem.pair is None else PairSession(session, session)


class ColdSessions:
    """Sessions started when they are asked for: for a single judgement."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox

    def take(self, hardware: HardwareSpec) -> Session:
        return _awaited(_start(self.sandbox, _Kind(hardware, baseline=False), JOB_LIMITS))

    def take_baseline(self, hardware: HardwareSpec) -> Session:
        return _awaited(_start(self.sandbox, _Kind(hardware, baseline=True), JOB_LIMITS))

    def settle(self) -> None:
        """Nothing is ever started behind the caller's back."""

    def refill(self) -> None:
        """Nothing waits."""


@dataclass(frozen=True)
class _Kind:
    hardware: HardwareSpec
    baseline: bool

    def __hash__(self) -> int:
        return hash((self.hardware.name, self.baseline))


def _at_once(end: Callable[[], None]) -> None:
    end()


def _start(
    sandbox: Sandbox,
    kind: _Kind,
    limits: Limits,
    ending: Callable[[Callable[[], None]], None] = _at_once,
) -> Session:
    trees = (_PROBLEMS,) if kind.baseline else ()
    return Session(sandbox, kind.hardware, limits=limits, trees=trees, ending=ending)


def _logged(end: Callable[[], None]) -> None:
    try:
        end()
    except Exception:  # it is nobody's verdict any more, and the next session must still be ended
        log.exception("a session could not be ended")


def _awaited(session: Session) -> Session:
    try:
        session.start()
    except BaseException:
        session.__exit__(None, None, None)
        raise
    return session


@dataclass(frozen=True)
class _Waiting:
    session: Session
    since: float


class WarmPool:
    """Waiting sessions of each kind that a worker needs: as many as one judgement takes at once.

    A context manager: leaving it ends all that wait.
    """

    def __init__(self, sandbox: Sandbox, hardware: Iterable[HardwareSpec]) -> None:
        self.sandbox = sandbox
        self._limits = replace(JOB_LIMITS, wall=JOB_LIMITS.wall + LONGEST_WAIT)
        self._starter = ThreadPoolExecutor(max_workers=1, thread_name_prefix="warm-up")
        self._ender = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ending")
        self._endings: list[Future[None]] = []
        self._lock = threading.Lock()
        self._wanted = {_Kind(spec, baseline=False): WAITING for spec in hardware}
        timed = [kind.hardware for kind in self._wanted if kind.hardware.timed]
        self._wanted |= {_Kind(spec, baseline=True): BASELINES_WAITING for spec in timed}
        self._waiting: dict[_Kind, deque[Future[_Waiting]]] = defaultdict(deque)
        self.refill()

    def refill(self) -> None:
        with self._lock:
            for number in range(max(self._wanted.values())):  # one of each, before others
                for kind, wanted in self._wanted.items():
                    if len(self._waiting[kind]) <= number < wanted:
                        self._waiting[kind].append(self._starter.submit(self._warm, kind))

    def _warm(self, kind: _Kind) -> _Waiting:
        session = _awaited(_start(self.sandbox, kind, self._limits, self._end_later))
        return _Waiting(session, time.monotonic())

    def _end_later(self, end: Callable[[], None]) -> None:
        """A verdict does not wait until the kernel has taken a process apart; what is timed does."""
        self._endings = [f for f in self._endings if not f.done()]
        self._endings.append(self._ender.submit(_logged, end))

    def take(self, hardware: HardwareSpec) -> Session:
        return self._take(_Kind(hardware, baseline=False))

    def take_baseline(self, hardware: HardwareSpec) -> Session:
        return self._take(_Kind(hardware, baseline=True))

    def _take(self, kind: _Kind) -> Session:
        with self._lock:
            waiting = self._first(kind).result()
            if time.monotonic() - waiting.since > LONGEST_WAIT or not waiting.session.alive():
                waiting.session.__exit__(None, None, None)
                waiting = self._warm(kind)
            return waiting.session

    def _first(self, kind: _Kind) -> Future[_Waiting]:
        ready = self._waiting[kind]
        return ready.popleft() if ready else self._starter.submit(self._warm, kind)

    def _all_waiting(self) -> list[Future[_Waiting]]:
        return [future for futures in self._waiting.values() for future in futures]

    def settle(self) -> None:
        with self._lock:
            for future in self._all_waiting():
                future.exception()  # waits; whoever takes it meets the exception
        wait(self._endings)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._starter.shutdown(wait=True, cancel_futures=True)
        for future in self._all_waiting():
            if not future.cancelled() and future.exception() is None:
                future.result().session.__exit__(kind, error, trace)
        self._ender.shutdown(wait=True)
