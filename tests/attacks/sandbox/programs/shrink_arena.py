"""Strategy: cut shared memory short, so that the judge's next look at it is a bus error.
Stopped by: seals against shrinking, growing and further seals.
"""

import fcntl
import os

from attempts import attempt

path = os.environ["ARENA_SHARED"]
descriptor = os.open(path, os.O_RDWR)
size = os.fstat(descriptor).st_size
attempt("empty it", lambda: os.ftruncate(descriptor, 0))
attempt("shrink it", lambda: os.ftruncate(descriptor, size - 4096))
attempt("grow it", lambda: os.ftruncate(descriptor, size * 1000))
attempt("extend it", lambda: os.posix_fallocate(descriptor, size, size * 1000))
attempt("open it empty", lambda: os.open(path, os.O_RDWR | os.O_TRUNC))
attempt("forbid writing", lambda: fcntl.fcntl(descriptor, 1033, fcntl.F_SEAL_WRITE))
