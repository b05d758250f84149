"""The private folder of a job where nothing can be mounted: its files and a place to write to.

On disk it is ``backpass-job-*`` in the system's folder for temporary files, with ``job`` (what a job
elsewhere sees as /job) and ``home`` (its /tmp). Only the job's user can look into it.
"""

from __future__ import annotations

import logging
import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Self

from sandbox.layout import inside
from sandbox.removal import remove
from sandbox.spec import Job

log = logging.getLogger(__name__)


class JobFolder:
    """One job's folder, from before its start to after its end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.files = path / "job"
        self.home = path / "home"

    @classmethod
    def make(cls, job: Job, owner: tuple[int, int] | None) -> Self:
        """A new folder with `job`'s files, for `owner` (user, group) to look into, for us if None.

        Raises:
            OSError: it cannot be made.
            ValueError: a file of the job has a path that cannot be allowed.
        """
        folder = cls(Path(tempfile.mkdtemp(prefix="backpass-job-")).resolve())
        try:
            folder.files.mkdir()
            folder.home.mkdir()
            for name, data in job.files.items():
                path = folder.files / inside(name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
            if owner is not None:
                # Its folders, so that this user can remove it; what the job may write to is said
                # by Landlock.
                for place, _, _ in os.walk(folder.path):
                    os.chown(place, *owner)
        except BaseException:
            folder.remove()
            raise
        return folder

    def moved(self, job: Job) -> Job:
        """`job`, told where its files are instead of /job and, in its environment, where its place for
        temporary ones is instead of /tmp. It finds them in ``JOB`` and ``TMPDIR`` as well."""
        files, home = ("/job", self.files), ("/tmp", self.home)  # noqa: S108 - as named inside
        environment = {
            name: _moved(value, job.trees, files, home) for name, value in job.environment.items()
        }
        return replace(
            job,
            argv=tuple(_moved(argument, job.trees, files) for argument in job.argv),
            files={},
            environment={"JOB": str(self.files), "TMPDIR": str(self.home), **environment},
        )

    def remove(self) -> None:
        """Remove it with all in it, if it is still there. Call it when no process of the job is left."""
        try:
            remove(self.path)
        except OSError as error:
            log.warning("the folder of a job could not be removed: %s", error)


def _moved(text: str, trees: tuple[Path, ...], *moves: tuple[str, Path]) -> str:
    """`text`, elsewhere if it names something in a folder that lies elsewhere."""
    if any(Path(text).is_relative_to(tree) for tree in trees):
        return text
    for there, here in moves:
        if text == there or text.startswith(f"{there}/"):
            return f"{here}{text[len(there) :]}"
    return text
