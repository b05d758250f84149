"""What a job prints, kept up to a limit and made harmless to show."""

from __future__ import annotations

import os
import threading
import unicodedata

_CHUNK = 1 << 16
# Other, control; other, format (bidirectional overrides, invisible characters); surrogates.
_HIDDEN = frozenset({"Cc", "Cf", "Cs"})


def harmless(raw: bytes) -> str:
    """`raw` as text in which every control and format character but newline and tab is U+FFFD."""
    text = raw.decode("utf-8", errors="replace")
    return "".join(
        character
        if character in "\n\t" or unicodedata.category(character) not in _HIDDEN
        else "\N{REPLACEMENT CHARACTER}"
        for character in text
    )


class CappedDrain:
    """Reads a pipe to its end in a thread of its own, so that its writer never blocks, and keeps the
    first bytes."""

    def __init__(self, descriptor: int, limit: int) -> None:
        """Take over `descriptor` and keep at most `limit` bytes."""
        self._descriptor = descriptor
        self._limit = limit
        self._kept = bytearray()
        self._thread = threading.Thread(target=self._drain, name="sandbox-output", daemon=True)
        self._thread.start()

    def _drain(self) -> None:
        try:
            while chunk := os.read(self._descriptor, _CHUNK):
                self._kept += chunk[: self._limit - len(self._kept)]
        finally:
            os.close(self._descriptor)

    def text(self) -> str:
        """What was kept so far."""
        return harmless(bytes(self._kept))

    def join(self, timeout: float) -> None:
        """Wait up to `timeout` seconds for the end of the stream."""
        self._thread.join(timeout)
