from __future__ import annotations

import fcntl
import os

import pytest

from sandbox.arenas import Arena, bytes_in_memory


@pytest.mark.parametrize("size", [0, 1, 4096, 8193])
def test_the_size_cannot_change(size: int):
    arena = Arena("x", 8192)
    with pytest.raises(PermissionError):
        os.ftruncate(arena.descriptor, size)
    with pytest.raises(PermissionError):
        fcntl.fcntl(arena.descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE)
    arena.close()


def test_closing_leaves_memory_that_is_still_looked_at():
    arena = Arena("x", 4096)
    part = arena.view[:10]
    arena.view[:3] = b"abc"
    arena.close()
    assert bytes(part[:3]) == b"abc"


def test_bytes_in_memory_are_read_from_the_start():
    descriptor = bytes_in_memory("a/b", b"content")
    assert os.read(descriptor, 100) == b"content"
    os.close(descriptor)
