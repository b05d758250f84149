"""The sandbox's end of the conversation with the judge: length-prefixed JSON over two descriptors."""

from __future__ import annotations

import json
import os
import struct
import sys
from typing import Any

_LENGTH = struct.Struct(">I")


class Channel:
    """Takes over standard input and output; whatever the submission prints goes to standard error."""

    def __init__(self) -> None:
        self._in = os.dup(0)
        self._out = os.dup(1)
        os.set_inheritable(self._in, False)
        os.set_inheritable(self._out, False)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
        sys.stdout = os.fdopen(1, "w", buffering=1, errors="backslashreplace", closefd=False)
        sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)

    def receive(self) -> Any:
        """The judge's next command, or None when the judge has hung up."""
        head = self._read(_LENGTH.size)
        if head is None:
            return None
        body = self._read(_LENGTH.unpack(head)[0])
        return None if body is None else json.loads(body)

    def send(self, message: dict[str, Any]) -> None:
        body = json.dumps(message).encode()
        data = memoryview(_LENGTH.pack(len(body)) + body)
        while data:
            data = data[os.write(self._out, data) :]

    def _read(self, size: int) -> bytes | None:
        parts = []
        while size:
            part = os.read(self._in, size)
            if not part:
                return None
            parts.append(part)
            size -= len(part)
        return b"".join(parts)
