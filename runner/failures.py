"""How a session ends badly: what the process said or how it died, as a verdict with a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sandbox.output import harmless
from sandbox.spec import Ending
from wire.verdict import SourceError, Verdict


class SessionFailed(Exception):
    """The submission did not do what it was asked; carries the verdict that follows."""

    def __init__(self, verdict: Verdict, headline: str, error: SourceError | None = None) -> None:
        super().__init__(headline)
        self.verdict = verdict
        self.headline = headline
        self.error = error


class HarnessBroken(RuntimeError):
    """The sandbox or our own code in it failed before the submission ran: a judge failure."""


def text(value: Any, longest: int) -> str:
    """`value` as text that can be stored and shown, whatever the process put into it."""
    return harmless(str(value)[:longest].encode("utf-8", errors="replace"))


def from_error(reply: Mapping[str, Any], verdict: Verdict, what: str) -> SessionFailed:
    told = reply["error"] if isinstance(reply["error"], dict) else {}
    line = told.get("line")
    error = SourceError(
        kind=text(told.get("kind", ""), 200),
        message=text(told.get("message", ""), 8000),
        traceback=text(told.get("traceback", ""), 8000),
        line=line if type(line) is int and 0 < line < 10**6 else None,
    )
    if reply.get("memory") is True:
        return SessionFailed(Verdict.OUT_OF_MEMORY, "The submission ran out of memory.", error)
    at = f" at line {error.line}" if error.line else ""
    first = error.message.splitlines()[0][:200] if error.message else ""
    return SessionFailed(verdict, f"{what}{at}: {error.kind}: {first}", error)


def from_ending(ending: Ending, doing: str) -> SessionFailed:
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
