"""Files and sockets of running jobs, where the engine can bind them, and whose they are.

Each sandbox owns one folder below a common one, with a lock that it holds as long as its process lives.
A folder whose lock can be taken belongs to nobody any more.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import socket
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

_LOCK = "lock"
_NEW = ".new-"
_MAKING = 60.0  # seconds after which nobody is still making a folder


class Folder:
    """This process's folder below `base`, which is made if it does not exist."""

    def __init__(self, base: Path) -> None:
        """Raises OSError."""
        base.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._base = base
        self.owner = secrets.token_hex(8)
        # Under another name until it is locked: a sweep would take it for abandoned.
        fresh = Path(tempfile.mkdtemp(prefix=_NEW, dir=base))
        self._lock = _locked(fresh, create=True)
        self.path = fresh.rename(base / self.owner)

    def job(self) -> Path:
        """A new folder for one job."""
        folder = Path(tempfile.mkdtemp(prefix="job-", dir=self.path))
        (folder / "job").mkdir()  # shown to the job, even one that brings no files
        return folder

    def forget(self, job: Path) -> None:
        """Delete a job's folder."""
        shutil.rmtree(job, ignore_errors=True)

    def abandoned(self) -> list[str]:
        """Owners of whom there is still a folder, but no process."""
        return [
            path.name
            for path in self._base.iterdir()
            if path != self.path and path.is_dir() and not self.is_alive(path.name)
        ]

    def is_alive(self, owner: str) -> bool:
        """Whether the process that made `owner`'s folder lives."""
        if owner.startswith(_NEW):
            return self._is_fresh(owner)
        try:
            os.close(_locked(self._base / owner, create=False))
        except BlockingIOError:
            return True
        except FileNotFoundError:
            return False
        return False

    def _is_fresh(self, name: str) -> bool:
        """Whether somebody may still be making this folder."""
        try:
            made = (self._base / name).stat().st_mtime
        except FileNotFoundError:
            return False
        return time.time() - made < _MAKING

    def remove(self, owners: Iterable[str]) -> None:
        """Delete the folders of `owners`, who must be dead."""
        for owner in owners:
            shutil.rmtree(self._base / owner, ignore_errors=True)

    def close(self) -> None:
        """Delete this process's folder and let go of the lock."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def _locked(folder: Path, *, create: bool) -> int:
    """A descriptor that holds the lock of `folder`. Raises BlockingIOError if somebody has it."""
    flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0)
    descriptor = os.open(folder / _LOCK, flags, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write `files`, absolute paths in the container to contents, below `folder`, readable by all."""
    for name, data in files.items():
        path = folder / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        path.chmod(0o644)
    for made, _, _ in os.walk(folder):
        Path(made).chmod(0o755)


def listen(path: Path) -> socket.socket:
    """A socket at `path` that everybody may connect to. Raises OSError."""
    # A socket's address is short and a path may be long: go through a descriptor of its folder.
    parent = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        listener.bind(f"/proc/self/fd/{parent}/{path.name}")
        path.chmod(0o666)
        listener.listen(1)
    except BaseException:
        listener.close()
        raise
    finally:
        os.close(parent)
    return listener
