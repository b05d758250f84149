"""Strategy: change anything but /tmp: the root, the job's own files, the interpreter, the
kernel's knobs.
Stopped by: read-only mounts, an unprivileged user.
"""

import os
import sys

from attempts import HOME, JOB, attempt


def write(path):
    def call():
        with open(path, "ab") as stream:
            stream.write(b"x")

    return call


for path in (
    "/new",
    f"{JOB}/new",
    f"{JOB}/program.py",
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
attempt("rename /job", lambda: os.rename(JOB, f"{HOME}/job"))
attempt("remove own program", lambda: os.remove(f"{JOB}/program.py"))
attempt("make it writable", lambda: os.chmod(f"{JOB}/program.py", 0o777))
attempt("cut it short", lambda: os.truncate(f"{JOB}/program.py", 0))
attempt("empty it by reading", lambda: os.open(f"{JOB}/program.py", os.O_RDONLY | os.O_TRUNC))
attempt("write to it under another name", lambda: os.link(f"{JOB}/program.py", f"{HOME}/link"))
attempt("change a time stamp", lambda: os.utime(os.__file__))
attempt("link into the root", lambda: os.symlink("/tmp", "/link"))
