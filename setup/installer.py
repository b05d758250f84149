"""Running pip on one part: quiet, but never silent for long."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

from setup.environment import SetupFailed
from setup.parts import ROOT, TORCH, Part

SECONDS_BETWEEN_LINES = 5.0
LINES_KEPT_FOR_ERRORS = 25

TORCH_WARNING = """\
  PyTorch's default build for Linux carries CUDA: with its libraries a download of about 2.7 GB.
  Unless pip's settings on this machine already offer a CPU build, and you have no NVIDIA GPU, you
  can have about 0.2 GB instead: press Ctrl-C now and run
      make setup TORCH_INDEX=<address of PyTorch's CPU package index>
  (PyTorch's own "Get started" page shows that address: compute platform CPU, package Pip.)"""

Say = Callable[[str], None]


def install(part: Part, environment: Path, torch_index: str, say: Say) -> None:
    """Install `part` into `environment`, telling `say` how far it is.

    `torch_index`, when not empty, is where PyTorch comes from.

    Raises:
        SetupFailed: pip failed; the message ends with what it said.
    """
    if part is TORCH and not torch_index and platform.machine() in ("x86_64", "aarch64"):
        say(TORCH_WARNING)
    command = [environment / "bin" / "python", "-m", "pip", "install", "--no-input"]
    command += ["--disable-pip-version-check", "--progress-bar", "off"]
    command += ["--require-hashes"] if part.hashed else []
    command += ["--index-url", torch_index] if part is TORCH and torch_index else []
    command += ["-r", part.lock_file.relative_to(ROOT)]
    said: deque[str] = deque(maxlen=LINES_KEPT_FOR_ERRORS)
    code = _run([str(word) for word in command], _Progress(part.package_count(), say), said)
    if code != 0:
        raise SetupFailed(
            f"pip could not install {part.lock_file.name}; its last words were:\n"
            + "\n".join(f"  | {line}" for line in said)
            + "\nWhen the cause is gone, `make setup` goes on from here."
        )


def _run(command: list[str], progress: _Progress, said: deque[str]) -> int:
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    environment.pop("PYTHONPATH", None)
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as pip:
        for line in _lines(pip):
            said.append(line)
            progress.heard(line)
        return pip.wait()


def _lines(process: subprocess.Popen[str]) -> Iterator[str]:
    if process.stdout is None:
        raise ValueError("the process was started without a pipe")
    for line in process.stdout:
        yield line.rstrip()


class _Progress:
    """Turns pip's chatter into a line every few seconds."""

    def __init__(self, total: int, say: Say) -> None:
        self._total, self._say = total, say
        self._seen = 0
        self._unpacking = False
        self._last = time.monotonic()

    def heard(self, line: str) -> None:
        if line.startswith(("Collecting ", "Requirement already satisfied:")):
            self._seen += 1
        if line.startswith("Installing collected packages:"):
            self._unpacking = True
            self._say("  all here; unpacking")
        elif "Downloading " in line and line.rstrip(")").endswith(("MB", "GB")):
            self._tell(f"  {line.strip()}")
        elif not self._unpacking and time.monotonic() - self._last > SECONDS_BETWEEN_LINES:
            self._tell(f"  {min(self._seen, self._total)} of {self._total}")

    def _tell(self, text: str) -> None:
        self._last = time.monotonic()
        self._say(text)
