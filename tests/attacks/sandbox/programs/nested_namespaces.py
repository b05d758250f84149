"""Strategy: become root in a user namespace of one's own, and attack the kernel from there.
Stopped by: the filter looks at the flags of clone and refuses unshare, setns and clone3.
"""

import ctypes
import os
import platform
import subprocess

from attempts import attempt, check, syscall


def write(path, text):
    def call():
        with open(path, "w") as stream:
            stream.write(text)

    return call


COLUMN = 0 if platform.machine() == "x86_64" else 1
USER, NET, MOUNT, PID = 0x1000_0000, 0x4000_0000, 0x2_0000, 0x2000_0000
SIGCHLD = 17

for flags in (USER, USER | NET, USER | MOUNT, USER | PID, MOUNT, NET):
    attempt(f"unshare {flags:x}", syscall((272, 97)[COLUMN], flags))
    attempt(f"clone {flags:x}", syscall((56, 220)[COLUMN], flags | SIGCHLD, 0, 0, 0, 0))
arguments = (ctypes.c_uint64 * 11)(USER, 0, 0, 0, SIGCHLD)
attempt("clone3", syscall(435, ctypes.byref(arguments), ctypes.sizeof(arguments)))
for name in ("user", "net", "mnt"):
    attempt(
        f"enter one's own {name} namespace",
        lambda name=name: syscall(
            (308, 268)[COLUMN], os.open(f"/proc/self/ns/{name}", os.O_RDONLY), 0
        )(),
    )
attempt("map users anew", write("/proc/self/uid_map", "0 0 1"))
for command in (["unshare", "-Ur", "id"], ["bwrap", "--bind", "/", "/", "id"]):
    try:
        code = subprocess.run(command, capture_output=True).returncode
    except OSError:
        code = 127
    check(command[0], code != 0)
