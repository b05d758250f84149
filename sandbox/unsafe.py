"""No isolation, for an operator who insists, on a machine where nobody else submits.

A job is a plain process with the resource limits, the system call filter and no capabilities. It can
read whatever the operator's user can read, and change that user's files.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from sandbox.identity import Identity
from sandbox.layout import Step, inside
from sandbox.local import PACKAGES, LocalSandbox
from sandbox.process import LocalRunning
from sandbox.spec import Job


class UnsafeSandbox:
    """Jobs as plain processes. Where `argv` or the environment say /job or begin with /job/, a
    temporary folder stands instead; the job also finds it in the variable ``JOB``."""

    name = "none"
    level = (
        "NOT ISOLATED. Jobs are plain processes with resource limits: a submission can read and "
        "change everything that the user running this judge can. Run only code you trust."
    )

    def start(self, job: Job) -> LocalRunning:
        """See sandbox.spec.Sandbox. Raises as LocalSandbox.start does."""
        folder = Path(tempfile.mkdtemp(prefix="backpass-job-"))
        remove = partial(shutil.rmtree, folder, ignore_errors=True)
        try:
            running = _PlainProcess(folder / "home").start(_moved(job, folder))
        except BaseException:
            remove()
            raise
        running.afterwards(remove)
        return running


class _PlainProcess(LocalSandbox):
    name = UnsafeSandbox.name
    level = UnsafeSandbox.level
    stage = PACKAGES
    in_memory = ()

    def __init__(self, home: Path) -> None:
        self.home = str(home)

    def _identity(self) -> Identity:
        return Identity(privileged=False, uid_map="", gid_map="", change=None)

    def _shares_its_user(self, who: Identity) -> bool:  # noqa: ARG002
        return True

    def _pids(self, running: LocalRunning) -> Callable[[], list[int]]:
        return running.tree

    def _steps(self, job: Job, opened: list[int]) -> list[Step]:  # noqa: ARG002
        return []

    def _config(self, who: Identity, steps: list[Step], first: list[str]) -> dict[str, object]:  # noqa: ARG002
        return {"userns": None, "unshare": 0, "root": None, "argv": first}


def _moved(job: Job, folder: Path) -> Job:
    """`job` with its files written below `folder`, and told so."""
    files = folder / "job"
    (folder / "home").mkdir()
    files.mkdir()
    for name, data in job.files.items():
        path = files / inside(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def moved(text: str) -> str:
        return f"{files}{text[4:]}" if text == "/job" or text.startswith("/job/") else text

    environment = {name: moved(value) for name, value in job.environment.items()}
    return replace(
        job,
        argv=tuple(moved(argument) for argument in job.argv),
        files={},
        environment={"JOB": str(files), **environment},
    )
