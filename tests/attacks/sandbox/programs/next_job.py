"""Strategy: leave something for the next job, or find what the one before left: files, shared memory,
names in the kernel, an arena's old contents.
Stopped by: every job has its own tmpfs, IPC namespace and freshly made arenas. (A test runs this twice.)
"""

import contextlib
import mmap
import os

from attempts import HOME, check

MARK = b"left by the job before"
memory = mmap.mmap(os.open(os.environ["ARENA_SHARED"], os.O_RDWR), 65536)
check("an arena is empty at first", bytes(memory) == bytes(65536))
memory[: len(MARK)] = MARK
for folder in (HOME, "/dev/shm", "/dev/mqueue", "/var/tmp", "/run", "/run/lock", "/dev"):
    path = f"{folder}/mark"
    check(f"{folder} holds no mark", not os.path.exists(path))
    with contextlib.suppress(OSError), open(path, "wb") as stream:
        stream.write(MARK)
for name in ("msg", "sem", "shm"):
    found = []
    with contextlib.suppress(OSError):
        found = open(f"/proc/sysvipc/{name}").read().splitlines()[1:]
    check(f"System V {name}", not found)
