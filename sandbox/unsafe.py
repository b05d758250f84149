"""No isolation, for an operator who insists, on a machine where nobody else submits.

A job is a plain process with the resource limits, the system call filter and no capabilities. It can
read whatever the operator's user can read, and change that user's files.
"""

from __future__ import annotations

from collections.abc import Callable

from sandbox import landlock_kernel
from sandbox.folder import JobFolder
from sandbox.identity import Identity
from sandbox.launched import LocalRunning
from sandbox.layout import Step
from sandbox.local import PACKAGES, LocalSandbox
from sandbox.spec import Isolation, Job


class UnsafeSandbox:
    """Jobs as plain processes, which find /job and /tmp elsewhere (see sandbox.folder)."""

    name = "none"
    isolation = Isolation.NONE
    level = (
        "NOT ISOLATED. Jobs are plain processes with resource limits: a submission can read and "
        "change everything that the user running this judge can. Run only code you trust."
    )

    def start(self, job: Job) -> LocalRunning:
        """See sandbox.spec.Sandbox. Raises as LocalSandbox.start does."""
        folder = JobFolder.make(job, owner=None)
        try:
            running = _PlainProcess(folder).start(folder.moved(job))
        except BaseException:
            folder.remove()
            raise
        running.afterwards(folder.remove)
        return running


class _PlainProcess(LocalSandbox):
    name = UnsafeSandbox.name
    isolation = UnsafeSandbox.isolation
    level = UnsafeSandbox.level
    stage = PACKAGES
    in_memory = ()
    own_processes = False

    def __init__(self, folder: JobFolder) -> None:
        self.home = str(folder.home)
        self.folder = str(folder.path)
        # Not for the host's sake, which the job can reach in other ways, but to find its processes.
        self.confine_signals = landlock_kernel.abi() >= landlock_kernel.SCOPES_SINCE

    def _identity(self) -> Identity:
        return Identity(privileged=False, uid_map="", gid_map="", change=None)

    def _shares_its_user(self, who: Identity) -> bool:  # noqa: ARG002 - the interface's
        return True

    def _pids(self, running: LocalRunning) -> Callable[[], list[int]]:
        return running.tree

    def _steps(self, job: Job, opened: list[int]) -> list[Step]:  # noqa: ARG002 - the interface's
        return []

    def _config(self, who: Identity, steps: list[Step], first: list[str]) -> dict[str, object]:  # noqa: ARG002 - the interface's
        return {"userns": None, "unshare": 0, "root": None, "argv": first}
