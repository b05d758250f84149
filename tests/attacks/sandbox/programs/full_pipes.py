"""Strategy: hold the kernel's memory in the buffers of pipes and socket pairs, where no process has it.
Stopped by: the number of open files, and the kernel's own bound on a user's pipes.
"""

import contextlib
import fcntl
import os
import socket

from attempts import check

SET_SIZE = 1031  # F_SETPIPE_SZ
held = 0
keep = []
try:
    while True:
        readable, writable = os.pipe()
        keep += [readable, writable]
        os.set_blocking(writable, False)
        with contextlib.suppress(PermissionError):
            fcntl.fcntl(writable, SET_SIZE, 1 << 20)
        with contextlib.suppress(BlockingIOError):
            while True:
                held += os.write(writable, b"x" * 65536)
        pair = socket.socketpair()
        keep += pair
        pair[0].setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                held += pair[0].send(b"x" * 65536)
except OSError as error:
    reason = error.errno
check(f"{held >> 20} MB until error {reason}", held < 128 << 20)
os._exit(0)
