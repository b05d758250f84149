"""Telling the user what their code raised: their frames and lines, nobody else's paths."""

from __future__ import annotations

import linecache
import traceback
from typing import Any

USER_FILE = "submission.py"
_LIMIT = 8000


def describe(error: BaseException, path: str) -> dict[str, Any]:
    """What `error` means to whoever wrote the file at `path`: kind, message, traceback and line.

    An error that Triton's interpreter wraps is shown as the one inside, which happened in the kernel.
    """
    wrapped = [error]
    while type(error).__name__ == "InterpreterError" and error.__cause__ is not None:
        error = error.__cause__
        wrapped.append(error)
    kind, message = type(error).__name__, str(error)
    if isinstance(error, SyntaxError) and error.filename == path:
        return _syntax_error(error, kind)
    frames, line, hidden = [], None, 0
    for frame in (f for e in wrapped for f in traceback.extract_tb(e.__traceback__)):
        if frame.filename == path:
            if hidden:
                frames.append(f"  … {hidden} inside libraries")
            hidden = 0
            line = frame.lineno
            source = linecache.getline(path, frame.lineno or 0).strip()
            frames.append(
                f'  File "{USER_FILE}", line {frame.lineno}, in {frame.name}\n    {source}'
            )
        else:
            hidden += 1
    if hidden and frames:
        frames.append(f"  … {hidden} inside libraries")
    text = "\n".join(["Traceback (most recent call last):", *frames, f"{kind}: {message}"])
    return {
        "kind": kind[:200],
        "message": message[:_LIMIT].replace(path, USER_FILE),
        "traceback": text[:_LIMIT].replace(path, USER_FILE),
        "line": line,
    }


def _syntax_error(error: SyntaxError, kind: str) -> dict[str, Any]:
    source = (error.text or "").rstrip("\n")
    caret = " " * max((error.offset or 1) - 1, 0) + "^"
    shown = (
        f'  File "{USER_FILE}", line {error.lineno}\n    {source}\n    {caret}\n{kind}: {error.msg}'
    )
    return {
        "kind": kind,
        "message": str(error.msg)[:_LIMIT],
        "traceback": shown[:_LIMIT],
        "line": error.lineno,
    }
