"""Memory that the judge shares with a job, of a size that nobody can change any more.

Without the seals a job could truncate the memory and the judge's next read of it would be a SIGBUS.
"""

from __future__ import annotations

import fcntl
import mmap
import os


class Arena:
    """One sealed shared memory, mapped here and inherited by the job as a descriptor."""

    def __init__(self, name: str, size: int) -> None:
        """Make `size` bytes of zeros. Raises ValueError for a size below 1, OSError."""
        if size < 1:
            raise ValueError(f"an arena needs a size of at least one byte: {name} has {size}")
        self.descriptor = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(self.descriptor, size)
            seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
            fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, seals)
            self._map = mmap.mmap(self.descriptor, size)
        except BaseException:
            os.close(self.descriptor)
            raise
        self.view = memoryview(self._map)

    def close_descriptor(self) -> None:
        """Keep only the mapping: the job has its own descriptor now."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def close(self) -> None:
        """Give the memory back, or leave that to the last array still looking at it."""
        self.close_descriptor()
        try:
            self.view.release()
            self._map.close()
        except BufferError:
            return  # somebody's array is built on it; its end unmaps the memory


def bytes_in_memory(name: str, data: bytes) -> int:
    """A descriptor of an unnamed file holding `data`, at its start. Raises OSError."""
    descriptor = os.memfd_create(name.replace("/", "_")[-100:], os.MFD_CLOEXEC)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        os.lseek(descriptor, 0, os.SEEK_SET)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
