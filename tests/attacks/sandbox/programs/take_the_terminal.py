"""Strategy: type into the terminal of whoever started the judge, or read from it.
Stopped by: a session of its own without a terminal; the filter refuses TIOCSTI and TIOCLINUX.
"""

import fcntl
import os

from attempts import attempt

TIOCSTI, TIOCLINUX, TIOCSCTTY = 0x5412, 0x541C, 0x540E
attempt("the controlling terminal", lambda: os.open("/dev/tty", os.O_RDWR))
for name in ("/dev/console", "/dev/tty0", "/dev/tty1", "/dev/pts/0", "/dev/vcs", "/dev/uinput"):
    attempt(name, lambda name=name: os.open(name, os.O_RDWR | os.O_NOCTTY))
for descriptor in (0, 1, 2):
    attempt(f"type into {descriptor}", lambda fd=descriptor: fcntl.ioctl(fd, TIOCSTI, b"x"))
    attempt(f"paste into {descriptor}", lambda fd=descriptor: fcntl.ioctl(fd, TIOCLINUX, b"\x03"))
    attempt(f"own {descriptor}", lambda fd=descriptor: fcntl.ioctl(fd, TIOCSCTTY, 0))
