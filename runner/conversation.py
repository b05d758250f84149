"""Talking to one sandboxed process: a command, then its answer.

Everything the process says is parsed as data from an enemy: lengths are bounded, JSON must be an object,
and an answer must repeat its command's token, which nobody knew before.
"""

from __future__ import annotations

import json
import secrets
import struct
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self

from runner.failures import HarnessBroken, SessionFailed, from_ending
from sandbox.spec import DeadlinePassed, JobEnded, Running
from wire.verdict import Verdict

START_SECONDS = 60.0
_LONGEST_MESSAGE = 256 << 10
_LENGTH = struct.Struct(">I")


class Conversation:
    """The judge's end. The process runs only while it is asked something.

    A context manager: leaving it ends the process.
    """

    def __init__(self, running: Running) -> None:
        self._running = running

    def start(self) -> None:
        """Wait until the process has imported its libraries.

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

    def ask(
        self,
        command: Mapping[str, Any],
        seconds: float,
        doing: str,
        at_once: Callable[[], None] = lambda: None,
    ) -> tuple[dict[str, Any], float]:
        """Send `command`; the reply, and the seconds until it was there by the judge's clock.

        `at_once` is called when the reply is there, before the process is stopped.

        Raises:
            SessionFailed: it ended, took longer than `seconds`, or answered something else.
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

    def printed(self) -> str:
        """What the process wrote to its standard error."""
        return self._running.printed()

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
        self._running.__exit__(kind, error, trace)
