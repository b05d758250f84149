"""A started job, seen from the judge."""

from __future__ import annotations

import os
import select
import signal
import socket
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from sandbox.arenas import Arena
from sandbox.output import CappedDrain
from sandbox.spec import DeadlinePassed, Ending, JobEnded, Limits, SandboxUnavailable
from sandbox.watchdog import Meter, ProcMeter, Watchdog

_START = 20.0  # seconds a sandbox may take to come up on a busy machine
_REPORT = 1.0  # seconds between the end of a stream and the news of the job's end
_CHUNK = 1 << 20
_MESSAGE = 4096


@dataclass
class Channels:
    """The judge's ends: descriptors of the job's streams and of the pipe by which the job is ended,
    and the socket on which process 1 reports."""

    stdin: int
    stdout: int
    stderr: int
    control: int
    status: socket.socket


@dataclass(frozen=True)
class Status:
    """What process 1 says of the job's end: the status of wait(2), the seconds of processor time it
    used, and how many of its processes the kernel ended for want of memory."""

    wait: int
    cpu: float
    memory_kills: int


class PipedRunning(ABC):
    """A job whose process 1 (sandbox.inner) reports here (see sandbox.spec.Running). What holds its
    processes together is up to the subclass."""

    def __init__(self, channels: Channels, arenas: dict[str, Arena], limits: Limits) -> None:
        """Take over everything given; `wait_until_started` comes next."""
        self._channels = channels
        self._arenas = arenas
        self._limits = limits
        self._printed = CappedDrain(channels.stderr, limits.printed)
        self._watchdog: Watchdog | None = None
        self._root = -1
        self._lock = threading.Lock()
        self._reason: str | None = None
        self._status: Status | None = None
        self._hung_up = False
        self._ending: Ending | None = None
        self._afterwards: list[Callable[[], None]] = []
        os.set_blocking(channels.stdin, False)
        os.set_blocking(channels.stdout, False)

    @abstractmethod
    def _is_running(self) -> bool:
        """Whether anything of the job may still run."""

    @abstractmethod
    def _end(self) -> None:
        """Have everything ended. Returns at once; may be called from any thread, more than once."""

    @abstractmethod
    def _wait_for_the_end(self) -> None:
        """Return when nothing of the job is left, by force if it must be."""

    @abstractmethod
    def _freeze(self) -> None:
        """Return when none of its processes runs. Raises TimeoutError."""

    @abstractmethod
    def _thaw(self) -> None:
        """Let them go on, if they were stopped."""

    @abstractmethod
    def _let_go(self) -> None:
        """Give up what the subclass holds."""

    def _meter(self, pids: Callable[[], list[int]] | None, writable: tuple[str, ...]) -> Meter:
        return ProcMeter(self._root, pids, writable)

    def wait_until_started(
        self, pids: Callable[[], list[int]] | None, writable: tuple[str, ...]
    ) -> None:
        """Return when the job was executed. `pids` names its processes, all of the job's own /proc if
        None; `writable` are the file systems in memory, relative to its root.

        Raises:
            SandboxUnavailable: it could not be.
        """
        deadline = time.monotonic() + _START
        while True:
            message = self._report(deadline)
            if message == "started":
                break
            if message != "root":
                self.kill()
                self._printed.join(_REPORT)
                detail = message.removeprefix("failed ") or self._printed.text().strip()
                raise SandboxUnavailable(detail or "it did not start in time")
        meter = self._meter(pids, writable)
        self._watchdog = Watchdog(self._limits, meter, self._is_running, self._stop)

    def afterwards(self, action: Callable[[], None]) -> None:
        """Have `action` called when everything of the job is gone."""
        self._afterwards.append(action)

    def _report(self, deadline: float) -> str:
        """The next message of process 1, "" if there will be none or none came before `deadline`."""
        status = self._channels.status
        if not ready(status.fileno(), select.POLLIN, deadline):
            return ""
        try:
            data, descriptors, _, _ = socket.recv_fds(status, _MESSAGE, 1)
        except ConnectionResetError:
            # It ended before it read all it was sent. What it said itself is still there.
            return self._report(deadline)
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
            if self._root < 0:
                self._root = descriptor
            else:
                os.close(descriptor)
        return data.decode(errors="replace")

    def _stop(self, reason: str | None) -> None:
        """End everything. Whoever comes first gives the reason."""
        self._reason = self._reason or reason
        self._end()

    def write(self, data: bytes | memoryview, deadline: float) -> None:
        """See sandbox.spec.Running."""
        view = memoryview(data).cast("B")
        while view:
            self._wait(self._channels.stdin, select.POLLOUT, deadline)
            try:
                view = view[os.write(self._channels.stdin, view[:_CHUNK]) :]
            except BlockingIOError:
                continue
            except OSError as error:
                self._hung_up = True
                raise JobEnded("the job no longer reads its standard input") from error

    def read(self, size: int, deadline: float) -> bytes:
        """See sandbox.spec.Running."""
        found = bytearray()
        while len(found) < size:
            self._wait(self._channels.stdout, select.POLLIN, deadline)
            try:
                chunk = os.read(self._channels.stdout, min(_CHUNK, size - len(found)))
            except BlockingIOError:
                continue
            if not chunk:
                self._hung_up = True
                raise JobEnded(f"its output ended after {len(found)} of {size} bytes")
            found += chunk
        return bytes(found)

    def _wait(self, descriptor: int, event: int, deadline: float) -> None:
        if self._ending is not None:
            raise JobEnded("the job was ended")
        if not ready(descriptor, event, deadline):
            raise DeadlinePassed("the job did not answer in time")

    def arena(self, name: str) -> memoryview:
        """See sandbox.spec.Running. Raises KeyError for a name the job was not started with."""
        return self._arenas[name].view

    def pause(self) -> None:
        """See sandbox.spec.Running."""
        if self._ending is not None:
            raise JobEnded("the job was ended")
        try:
            self._freeze()
        except TimeoutError as error:
            raise DeadlinePassed("the job could not be stopped") from error

    def resume(self) -> None:
        """See sandbox.spec.Running."""
        self._thaw()

    def printed(self) -> str:
        """See sandbox.spec.Running."""
        return self._printed.text()

    def kill(self) -> Ending:
        """See sandbox.spec.Running."""
        with self._lock:
            if self._ending is None:
                if self._hung_up:
                    self._read_status(time.monotonic() + _REPORT)
                self._read_status(time.monotonic())
                self._stop(None)
                self._reap()
                self._read_status(time.monotonic())
                self._ending = self._judge_ending()
                self._release()
            return self._ending

    def _read_status(self, deadline: float) -> None:
        """Take in the news of the job's end if it comes before `deadline`."""
        while self._status is None:
            message = self._report(deadline)
            if not message:
                return
            self._take_in(message)

    def _take_in(self, message: str) -> None:
        """Remember `message` if it is "ended STATUS SECONDS KILLS"."""
        words = message.split()
        if words and words[0] == "ended":
            self._status = Status(int(words[1]), float(words[2]), int(words[3]))

    def _reap(self) -> None:
        self._wait_for_the_end()
        if self._watchdog is not None:
            self._watchdog.finish()
        self._printed.join(_REPORT)

    def _judge_ending(self) -> Ending:
        if self._status is None:
            return Ending(
                signal=int(signal.SIGKILL),
                out_of_memory=self._reason == "out_of_memory",
                timed_out=self._reason == "timed_out",
            )
        code = os.waitstatus_to_exitcode(self._status.wait)
        if code >= 0:
            return Ending(exit_code=code)
        killed = -code == signal.SIGKILL
        # The kernel sends SIGXCPU at the soft limit, and SIGKILL a second later to who ignores it.
        at_limit = killed and self._status.cpu >= self._limits.cpu
        return Ending(
            signal=-code,
            timed_out=-code == signal.SIGXCPU or at_limit,
            out_of_memory=killed and self._status.memory_kills > 0,
        )

    def _release(self) -> None:
        for descriptor in (self._channels.stdin, self._channels.stdout, self._channels.control):
            os.close(descriptor)
        self._channels.status.close()
        if self._root >= 0:
            os.close(self._root)
        self._let_go()
        for arena in self._arenas.values():
            arena.close()
        for action in self._afterwards:
            action()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None:
        self.kill()


def ready(descriptor: int, event: int, deadline: float) -> bool:
    """Whether `descriptor` became ready for `event`, or was hung up, before `deadline`."""
    watch = select.poll()
    watch.register(descriptor, event)
    return bool(watch.poll(max(0.0, deadline - time.monotonic()) * 1000))
