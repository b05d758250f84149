"""Strategy: hold memory that belongs to no process: unnamed files, System V segments, shared pages that
were unmapped.
Stopped by: the filter refuses each way to make it.
"""

import mmap
import os
import platform

from attempts import attempt, syscall

COLUMN = 0 if platform.machine() == "x86_64" else 1
attempt("memfd", lambda: os.memfd_create("x"))
attempt("secret memory", syscall(447, 0))
attempt("shared segment", syscall((29, 194)[COLUMN], 0, 1 << 20, 0o1600))
attempt("message queue", syscall((68, 186)[COLUMN], 0, 0o1600))
attempt("semaphores", syscall((64, 190)[COLUMN], 0, 100, 0o1600))
attempt("POSIX message queue", syscall((240, 180)[COLUMN], b"x", 0o102, 0o600, 0))
attempt("shared anonymous pages", lambda: mmap.mmap(-1, 1 << 20))
attempt("shared zero pages", lambda: mmap.mmap(os.open("/dev/zero", os.O_RDWR), 1 << 20))
