"""The broker of an installation on one machine: kombu's filesystem transport, made safe against kills.

kombu creates a message's file under its final name and then writes it, and deletes it before anybody
has acted on it. Here a message appears under its name complete; a reader claims it by a rename, which
exactly one wins; and it is deleted when it is acknowledged. What a killed reader had claimed goes back
into the queue: each reader holds a lock that the kernel releases with its last process.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import time
import uuid
from collections import defaultdict
from pathlib import Path
from queue import Empty
from typing import IO, Any

from kombu.exceptions import ChannelError
from kombu.transport import TRANSPORT_ALIASES, filesystem, virtual
from kombu.utils.json import dumps, loads

logger = logging.getLogger(__name__)

SCHEME = "wholefiles"

# How often a reader looks for what killed ones left behind, and how old an unfinished file must be to be
# one of those: writing takes milliseconds.
RECOVERY_SECONDS = 2.0
ABANDONED_SECONDS = 60.0
# In the name of a message that somebody had claimed before.
_AGAIN = "-again"


class QoS(virtual.QoS):
    """Tells the channel when a message is over and done with."""

    channel: Any

    def ack(self, delivery_tag: str) -> None:
        super().ack(delivery_tag)
        self.channel.settle(delivery_tag)

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:
        super().reject(delivery_tag, requeue=requeue)
        if not requeue:
            self.channel.settle(delivery_tag)


class Channel(filesystem.Channel):
    """Messages as files `<time>_<id>.<queue>.msg`, the oldest first.

    Claimed ones are `<time>_<id>.<queue>.<reader>.claimed`; a reader that lives holds the lock of
    `<reader>.lock` in the control folder.
    """

    QoS = QoS
    # Every queue is addressed by its name, so that no table of exchanges is kept on disk.
    supports_fanout = False
    get_table: Any = virtual.Channel.get_table
    _delete = virtual.Channel._delete

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._reader = uuid.uuid4().hex
        self._lock: IO[str] | None = None
        self._look_at = 0.0

    # kombu's own two base classes call the message by different names.
    def _put(self, queue: str, payload: Any, **_options: Any) -> None:  # type: ignore[override]  # kombu calls it with less
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
        """The oldest message, claimed until it is settled or restored."""
        folder = Path(self.data_folder_in)
        self._become_a_reader()
        self._recover(folder)
        for name in sorted(os.listdir(folder)):  # noqa: PTH208 - names, in one call, and often
            stem, _, rest = name.partition(".")
            if rest != f"{queue}.msg":
                continue
            claim = folder / f"{stem}.{queue}.{self._reader}.claimed"
            try:
                (folder / name).rename(claim)
            except FileNotFoundError:
                continue  # another reader has it
            try:
                return _read(claim, redelivered=stem.endswith(_AGAIN))
            except (ValueError, TypeError, KeyError):
                logger.warning("dropped %s: it is no message", name)
                claim.unlink()
        raise Empty

    def settle(self, delivery_tag: str) -> None:
        """Forget a message: it was acted on, or is not wanted."""
        (Path(self.data_folder_in) / delivery_tag).unlink(missing_ok=True)

    def _restore(self, message: Any) -> None:
        """Put a message that was claimed back to its place in the queue."""
        _put_back(Path(self.data_folder_in) / message.delivery_tag)

    def basic_get(self, queue: str, no_ack: bool = False, **options: Any) -> Any:
        message = super().basic_get(queue, no_ack=no_ack, **options)
        if message is not None and message.delivery_tag and no_ack:
            self.settle(message.delivery_tag)
        return message

    def basic_consume(
        self, queue: str, no_ack: bool, callback: Any, *rest: Any, **options: Any
    ) -> Any:
        def settling(message: Any) -> Any:
            self.settle(message.delivery_tag)
            return callback(message)

        chosen = settling if no_ack else callback
        return super().basic_consume(queue, no_ack, chosen, *rest, **options)

    def close(self) -> None:
        super().close()  # restores what was not acknowledged
        if self._lock:
            self._lock_path.unlink(missing_ok=True)
            self._lock.close()
            self._lock = None

    def _become_a_reader(self) -> None:
        """Take the lock that says that this channel's claims are alive. Raises Empty if it cannot."""
        if self._lock:
            return
        path = self.control_folder / f"{self._reader}.lock"
        try:
            # Under its name only once it is locked: others take an unlocked one for a dead reader's.
            lock = path.with_suffix(".new").open("w", encoding="utf-8")
            fcntl.flock(lock, fcntl.LOCK_EX)
            path.with_suffix(".new").rename(path)
        except OSError as error:
            logger.warning("cannot read messages: %s", error)
            raise Empty from error
        self._lock, self._lock_path = lock, path

    def _recover(self, folder: Path) -> None:
        """Put back what killed readers had claimed, and remove what killed writers left unfinished."""
        now = time.monotonic()
        if now < self._look_at:
            return
        self._look_at = now + RECOVERY_SECONDS
        claims: dict[str, list[Path]] = defaultdict(list)
        for claim in folder.glob("*.claimed"):
            claims[claim.name.split(".")[-2]].append(claim)
        readers = {path.stem for path in self.control_folder.glob("*.lock")} | claims.keys()
        for reader in readers - {self._reader}:
            _bury(self.control_folder / f"{reader}.lock", claims[reader])
        for unfinished in (*folder.glob("*.partial"), *self.control_folder.glob("*.new")):
            with contextlib.suppress(FileNotFoundError):
                if time.time() - unfinished.stat().st_mtime > ABANDONED_SECONDS:
                    unfinished.unlink()


def _read(claim: Path, *, redelivered: bool) -> Any:
    payload = loads(claim.read_text(encoding="utf-8", errors="replace"))
    properties = payload["properties"]
    # The claim's own name: unique also when a message was doubled.
    properties["delivery_tag"] = claim.name
    if redelivered:
        properties.setdefault("delivery_info", {})["redelivered"] = True
    return payload


def _put_back(claim: Path) -> None:
    stem, _, rest = claim.name.partition(".")
    queue = rest.rsplit(".", 2)[0]
    stem = stem.removesuffix(_AGAIN) + _AGAIN
    with contextlib.suppress(FileNotFoundError):  # somebody else did, or it was settled just now
        claim.rename(claim.with_name(f"{stem}.{queue}.msg"))


def _bury(lock: Path, claims: list[Path]) -> None:
    """Put a reader's claims back if it is dead: if nobody holds its lock, or it has none."""
    with contextlib.ExitStack() as stack:
        try:
            stream = stack.enter_context(lock.open("a", encoding="utf-8"))
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        except OSError as error:
            if lock.exists():
                logger.warning("cannot look after %s: %s", lock, error)
                return
        for claim in claims:
            _put_back(claim)
        lock.unlink(missing_ok=True)


class Transport(filesystem.Transport):
    """What the scheme `wholefiles://` names."""

    Channel = Channel


TRANSPORT_ALIASES[SCHEME] = f"{__name__}:Transport"
