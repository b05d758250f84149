"""The broker of an installation on one machine: kombu's filesystem transport, with whole messages only.

kombu creates a message's file under its final name and then writes it. A reader that polls in between
takes an empty file, and a Celery worker ends on it. Here a message appears under its name complete,
and is claimed by a rename, which exactly one reader wins.
"""

from __future__ import annotations

import logging
import os
import time
import uuid
from pathlib import Path
from queue import Empty
from typing import Any

from kombu.exceptions import ChannelError
from kombu.transport import TRANSPORT_ALIASES, filesystem
from kombu.utils.json import dumps, loads

logger = logging.getLogger(__name__)

SCHEME = "wholefiles"

_TABLE_TRIES = 100
_TABLE_WAIT = 0.01


class Channel(filesystem.Channel):
    """Messages as files `<time>_<id>.<queue>.msg`, the oldest first."""

    # kombu's own two base classes call the message by different names.
    def _put(self, queue: str, payload: Any, **_options: Any) -> None:  # type: ignore[override]
        folder = Path(self.data_folder_out)
        # Nanoseconds of the calendar, of fixed length: the names sort by age, after a reboot as well.
        name = f"{time.time_ns():020d}_{uuid.uuid4()}"
        partial = folder / f"{name}.partial"
        try:
            partial.write_text(dumps(payload), encoding="utf-8")
            partial.replace(folder / f"{name}.{queue}.msg")
        except OSError as error:
            partial.unlink(missing_ok=True)
            raise ChannelError(f"cannot write a message into {folder}: {error}") from error

    def _get(self, queue: str, _timeout: float | None = None) -> Any:
        folder = Path(self.data_folder_in)
        for name in sorted(os.listdir(folder)):  # noqa: PTH208 - names, in one call, and often
            if name.partition(".")[2] != f"{queue}.msg":
                continue
            claimed = folder / f"{name.partition('.')[0]}.claimed"
            try:
                (folder / name).rename(claimed)
            except FileNotFoundError:
                continue  # another reader has it
            text = claimed.read_text(encoding="utf-8", errors="replace")
            claimed.unlink()
            try:
                return loads(text)
            except ValueError:
                logger.warning("dropped %s: it is no message", name)
        raise Empty

    def get_table(self, exchange: str) -> list[Any]:
        """Which queues an exchange feeds; waits out the moment in which its file is being made."""
        for _ in range(_TABLE_TRIES):
            try:
                table: list[Any] = super().get_table(exchange)
            except ValueError:
                time.sleep(_TABLE_WAIT)
            else:
                return table
        raise ChannelError(f"the table of exchange {exchange!r} cannot be read")


class Transport(filesystem.Transport):
    """What the scheme `wholefiles://` names."""

    Channel = Channel


TRANSPORT_ALIASES[SCHEME] = f"{__name__}:Transport"
