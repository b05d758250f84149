"""Strategy: keys of other users in the kernel's keyrings, raw disks, the machine's memory and ports.
Stopped by: the filter refuses the calls; the device nodes are not there and cannot be made.
"""

import os
import platform

from attempts import HOME, attempt, syscall

COLUMN = 0 if platform.machine() == "x86_64" else 1
DESCRIBE, READ, JOIN, SEARCH = 6, 11, 1, 10
for ring in (-1, -3, -4, -5):  # of the thread, the session, the user, the user's session
    for action in (DESCRIBE, READ, SEARCH):
        attempt(
            f"keyring {ring} action {action}", syscall((250, 219)[COLUMN], action, ring, 0, 0, 0)
        )
attempt("another session's keyring", syscall((250, 219)[COLUMN], JOIN, b"_ses", 0, 0, 0))
attempt("a new key", syscall((248, 217)[COLUMN], b"user", b"x", b"y", 1, -4))
for name in (
    "sda",
    "vda",
    "nvme0n1",
    "mem",
    "port",
    "kvm",
    "fuse",
    "loop-control",
    "net/tun",
    "snd",
    "ppp",
):
    attempt(f"/dev/{name}", lambda name=name: os.open(f"/dev/{name}", os.O_RDONLY))
for number, (major, minor) in enumerate(((1, 1), (8, 0), (254, 0), (10, 200))):
    for kind in (0o20666, 0o60666):
        attempt(
            f"make node {kind:o} {major}:{minor}",
            lambda n=number, k=kind, d=(major, minor): os.mknod(
                f"{HOME}/{n}{k}", k, os.makedev(*d)
            ),
        )
