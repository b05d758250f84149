"""Strategy: leave the control group, raise its limits, or have the kernel run a program of ours as root
when it empties (release_agent).
Stopped by: control groups are read-only or not there, and mounting them is refused.
"""

import glob
import os
import platform

from attempts import HOME, attempt, syscall

MOUNT = 165 if platform.machine() == "x86_64" else 40


def write(path, text):
    def call():
        with open(path, "w") as stream:
            stream.write(text)

    return call


ROOT = "/sys/fs/cgroup"
for path in (
    *glob.glob(f"{ROOT}/*/release_agent"),
    *glob.glob(f"{ROOT}/*/notify_on_release"),
    *glob.glob(f"{ROOT}/memory*limit_in_bytes"),
    *glob.glob(f"{ROOT}/*/*limit_in_bytes"),
    *glob.glob(f"{ROOT}/*/cgroup.procs"),
    f"{ROOT}/cgroup.procs",
    f"{ROOT}/memory.max",
    f"{ROOT}/pids.max",
    f"{ROOT}/cgroup.freeze",
    f"{ROOT}/release_agent",
):
    attempt(path, write(path, "1"))
attempt("a group of one's own", lambda: os.mkdir(f"{ROOT}/mine"))
for controller in ("memory", "pids", "freezer"):
    attempt(f"a group of {controller}", lambda name=controller: os.mkdir(f"{ROOT}/{name}/mine"))
for kind in (b"cgroup", b"cgroup2"):
    attempt(f"mounting {kind.decode()}", syscall(MOUNT, kind, HOME.encode(), kind, 0, 0))
