"""The first process of a job below Landlock: what sandbox.inner does, and the walls around the job.

It stays outside the walls itself, inside those that the launcher put around its own signals. Standard
library only.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from sandbox import inner, landlock_filter, linux
from sandbox.landlock_kernel import READ, Files, confine
from sandbox.launch import reap_everything
from sandbox.removal import remove

# What programs read about themselves. Not all of /proc/self: the network, the mounts and the control
# groups are the host's.
_OF_ITSELF = ("auxv", "cmdline", "comm", "limits", "maps", "smaps", "stat", "statm", "status")
_DEVICE = Files.READ_FILE | Files.WRITE_FILE


def main(config_fd: int) -> None:
    """Run the job that the JSON in `config_fd` describes (see sandbox.landlock)."""
    with os.fdopen(config_fd, "rb") as stream:
        config = json.load(stream)
    # Whatever the job leaves comes to us, where we can end it should the launcher be gone.
    linux.prctl(linux.PR_SET_CHILD_SUBREAPER, 1)
    inner.run(config, confinement=_Walls(config["landlock"]))


class _Walls(inner.Confinement):
    def __init__(self, plan: dict[str, Any]) -> None:
        self._plan = plan
        self._held: list[int] = []

    def enter(self) -> None:
        plan = self._plan
        os.setsid()  # a group of its own: what it signals as a group is the job alone
        allowed = [(path, READ) for path in plan["read"]]
        allowed += [(path, _DEVICE) for path in plan["devices"]]
        allowed += [(path, Files(plan["home_rights"])) for path in plan["write"]]
        allowed += [(f"/proc/self/{name}", Files.READ_FILE) for name in _OF_ITSELF]
        allowed.append(("/proc/self/fd", Files.READ_DIR))
        confine(plan["abi"], allowed)
        own_pid = None if plan["signals_confined"] else os.getpid()
        linux.install_seccomp(landlock_filter.program(own_pid))

    def started(self, job: int) -> None:
        # Should the launcher die we live on for as long as it takes to end all that the job started.
        linux.prctl(linux.PR_SET_PDEATHSIG, 0)
        # A rule names an inode, and the kernel makes new ones for /proc whenever it forgot them: it
        # does not as long as somebody holds them.
        for name in (*_OF_ITSELF, "fd"):
            self._held.append(os.open(f"/proc/{job}/{name}", os.O_PATH | os.O_CLOEXEC))

    def abandoned(self) -> None:
        reap_everything(None, confined=self._plan["signals_confined"])
        remove(Path(self._plan["folder"]))
