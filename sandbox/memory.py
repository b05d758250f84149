"""How often the kernel ended something of a control group because its memory was used up.

Standard library only: this module also runs inside the sandbox, under the job's own interpreter.
"""

from __future__ import annotations

import os

# Where a control group that is the root of its own namespace shows its counters, by version; relative
# to the root of the file system.
_COUNTERS = ("sys/fs/cgroup/memory.events", "sys/fs/cgroup/memory/memory.oom_control")


def kills(root: int | None = None) -> int:
    """The number of processes of this control group that the kernel ended for want of memory, 0 where
    no control group is to be seen. `root` is a descriptor of the root of the file system to look in,
    that of this process if None."""
    prefix = "/" if root is None else ""
    for path in _COUNTERS:
        try:
            descriptor = os.open(prefix + path, os.O_RDONLY | os.O_CLOEXEC, dir_fd=root)
        except OSError:
            continue
        try:
            text = os.read(descriptor, 4096).decode()
        except OSError:
            continue
        finally:
            os.close(descriptor)
        for line in text.splitlines():
            name, _, number = line.partition(" ")
            if name == "oom_kill":
                return int(number)
    return 0
