"""Strategy: change anything but /tmp: the root, the job's own files, the interpreter, the
kernel's knobs.
Stopped by: read-only mounts, an unprivileged user.
"""

import os
import sys

from attempts import attempt


def write(path):
    def call():
        with open(path, "ab") as stream:
            stream.write(b"x")

    return call


for path in (
    "/new",
    "/job/new",
    "/job/program.py",
    "/etc/passwd",
    "/etc/new",
    "/usr/new",
    "/stage/sandbox/inner.py",
    "/dev/new",
    os.path.join(sys.base_prefix, "new"),
    os.path.realpath(sys.executable),
    os.__file__,
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/kernel/hostname",
    "/proc/sysrq-trigger",
    "/proc/1/oom_score_adj",
    "/sys/devices/system/cpu/cpu0/online",
):
    attempt(path, write(path))
attempt("rename /job", lambda: os.rename("/job", "/tmp/job"))
attempt("remove own program", lambda: os.remove("/job/program.py"))
attempt("make it writable", lambda: os.chmod("/job/program.py", 0o777))
attempt("change a time stamp", lambda: os.utime(os.__file__))
attempt("link into the root", lambda: os.symlink("/tmp", "/link"))
