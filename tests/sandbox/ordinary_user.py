"""An ordinary user's judge: a process that starts jobs below Landlock, and what talks to it.

The judge of a test run may be root's, whose jobs run as another user. An ordinary user's jobs run as
that user, beside everything else of theirs.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

import psutil

from sandbox.spec import Ending, Job
from tests.sandbox.support import Outcome, as_nobody, python_for_everybody

ROOT = Path(__file__).parents[2]

# One job a line, one outcome a line.
_DRIVER = """
import json, os, sys, time
from pathlib import Path
from sandbox.landlock import LandlockSandbox
from sandbox.spec import Job, JobEnded, Limits

for line in sys.stdin:
    asked = json.loads(line)
    asked["environment"]["HOST_PID"] = str(os.getpid())
    job = Job(
        tuple(asked["argv"]),
        {name: text.encode() for name, text in asked["files"].items()},
        environment=asked["environment"],
        arenas=asked["arenas"],
        limits=Limits(**asked["limits"]),
    )
    output = bytearray()
    started = time.monotonic()
    with LandlockSandbox().start(job) as running:
        try:
            while True:
                output += running.read(1, started + job.limits.wall + 10)
        except JobEnded:
            ending = running.kill()
    print(json.dumps({
        "output": output.decode(errors="replace"),
        "printed": running.printed(),
        "ending": vars(ending),
        "seconds": time.monotonic() - started,
    }), flush=True)
"""


class OrdinaryUser:
    """A context manager around that process."""

    def __enter__(self) -> Self:
        self._folder = Path(tempfile.mkdtemp(prefix="backpass-user-"))
        self._folder.chmod(0o755)
        shutil.copytree(ROOT / "sandbox", self._folder / "sandbox")
        shutil.copytree(Path(psutil.__file__).parent, self._folder / "psutil")
        shutil.copy(ROOT / "tests" / "sandbox" / "forbid.py", self._folder)
        self.judge = self.start("-c", _DRIVER, stdin=subprocess.PIPE)
        return self

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen[str]:
        """Run Python as that user, where it finds the package sandbox."""
        return subprocess.Popen(
            [*as_nobody(), python_for_everybody(), "-B", *arguments],
            cwd=self._folder,
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(self._folder)},
            stdout=subprocess.PIPE,
            text=True,
            **options,
        )

    def run(self, job: Job) -> Outcome:
        """Run `job`; the process that asked for it is named in its variable HOST_PID."""
        assert self.judge.stdin
        assert self.judge.stdout
        asked = {
            "argv": job.argv,
            "files": {name: data.decode() for name, data in job.files.items()},
            "environment": dict(job.environment),
            "arenas": dict(job.arenas),
            "limits": asdict(job.limits),
        }
        self.judge.stdin.write(json.dumps(asked) + "\n")
        self.judge.stdin.flush()
        found = json.loads(self.judge.stdout.readline())
        return Outcome(**(found | {"ending": Ending(**found["ending"])}))

    def __exit__(self, *_: object) -> None:
        self.judge.communicate()
        shutil.rmtree(self._folder)
