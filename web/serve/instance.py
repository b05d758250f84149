"""One running site for each data directory."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


class AlreadyRunning(Exception):
    """Another process serves from this data directory; the message says where."""


class Instance:
    """The right to serve from a data directory. The kernel takes it back however the holder ends."""

    def __init__(self, data: Path) -> None:
        """Take the right.

        Raises:
            AlreadyRunning: somebody has it.
        """
        data.mkdir(parents=True, exist_ok=True)
        self._descriptor = os.open(data / "serve.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            address = os.pread(self._descriptor, 1000, 0).decode(errors="replace").strip()
            os.close(self._descriptor)
            where = f"at {address}" if address else "or just starting or stopping"
            raise AlreadyRunning(
                f"Backpass is already running {where}, with its data in {data}.\n"
                "For a second one choose another directory: BACKPASS_DATA=/some/where make run"
            ) from None
        self.publish("")

    def publish(self, address: str) -> None:
        """Say where the site is, for whoever tries to start a second one."""
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, address.encode(), 0)
