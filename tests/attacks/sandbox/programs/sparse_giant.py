"""Strategy: files that are terabytes long and take no room, for whoever copies or packs them.
Stopped by: RLIMIT_FSIZE bounds a file's length, the size of /tmp its blocks; nobody copies them.
"""

import os
import signal

from attempts import HOME, attempt

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # an error instead of the end
file = os.open(f"{HOME}/giant", os.O_RDWR | os.O_CREAT, 0o600)
attempt("truncate to a terabyte", lambda: os.ftruncate(file, 1 << 40))
attempt("write at its end", lambda: os.pwrite(file, b"x", 1 << 40))
attempt("allocate it", lambda: os.posix_fallocate(file, 0, 1 << 40))
attempt("in shared memory", lambda: os.truncate("/dev/shm/giant", 1 << 40))
attempt("copy a range beyond", lambda: os.copy_file_range(file, file, 1, 0, 1 << 40) or 1 / 0)
