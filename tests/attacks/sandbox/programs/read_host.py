"""Strategy: read the host's files, processes, environment and kernel memory.
Stopped by: a root that holds only what was listed, a process namespace, an undumpable first process.
"""

import contextlib
import os

from attempts import attempt, check


def read(path):
    def call():
        with open(path, "rb") as stream:
            found = stream.read(100)
        if found in (b"", f"{os.uname().nodename}\n".encode()):
            raise OSError("nothing, or the sandbox's own name")
        return found

    return call


for path in (
    os.environ["HOST_FILE"],
    "/etc/shadow",
    "/etc/hostname",
    "/etc/machine-id",
    "/root/.bash_history",
    "/var/log/dpkg.log",
    "/run/utmp",
    "/proc/1/environ",
    "/proc/1/mem",
    "/proc/1/maps",
    "/proc/kcore",
    "/proc/kmsg",
    "/dev/kmsg",
    "/dev/mem",
    "/dev/zero",
    "/dev/tty",
    *(
        f"/proc/{os.environ[process]}/{name}"
        for process in ("HOST_PID", "HOST_NEIGHBOUR")
        for name in ("environ", "cmdline", "maps", "mem")
    ),
):
    attempt(path, read(path))
attempt("descriptors of process 1", lambda: os.listdir("/proc/1/fd"))
attempt("root of process 1", lambda: os.listdir("/proc/1/root"))
attempt("homes", lambda: os.listdir("/home"))
attempt("the judge's process", lambda: os.kill(int(os.environ["HOST_PID"]), 0))
check("environment", "HOST_SECRET" not in os.environ)
pids = []
with contextlib.suppress(PermissionError):
    pids = [name for name in os.listdir("/proc") if name.isdigit()]
check("other processes", len(pids) <= 2)
