"""The process that compiles a `.cu` file: nvcc reads it, nothing of it is run.

Command: ``compile`` (one source for given targets, with given tools). The answer lies in the shared
memory ``texts``, as JSON: for each target what the compilers said, the PTX and the machine code, or the
error. It is believed as little as all that compilers make of hostile text.
"""

from __future__ import annotations

import json
import mmap
import os
import re
import subprocess
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from . import channel
from .loading import Handler, Message, SubmissionHarness

USER_FILE = "submission.cu"
NVCC_SECONDS = 60.0
LONGEST_TEXT = 8 << 20
LONGEST_ERROR = 4000


class NvccHarness(SubmissionHarness):
    """State of one job: where its answer goes."""

    def __init__(self, conversation: channel.Channel) -> None:
        super().__init__(conversation)
        descriptor = os.open(os.environ["ARENA_TEXTS"], os.O_RDWR)
        self._texts = mmap.mmap(descriptor, os.fstat(descriptor).st_size)
        os.close(descriptor)

    def handlers(self) -> Mapping[str, Handler]:
        return {"compile": self._compile}

    def _compile(self, command: Message) -> Message:
        def compiled(target: Message) -> Message:
            return {"capability": target["capability"], **_compiled(command, target["arch"])}

        with ThreadPoolExecutor(2) as pool:  # each thread waits for compilers
            found = list(pool.map(compiled, command["targets"]))
        body = json.dumps({"targets": found}).encode()
        if len(body) > len(self._texts):
            return {"too_long": len(body)}
        self._texts[: len(body)] = body
        return {"bytes": len(body)}


def _compiled(command: Message, arch: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = folder / USER_FILE
        file.write_text(command["source"], encoding="utf-8", errors="surrogatepass")
        # Lines are written down, every intermediate file is kept, and each kernel's registers are told.
        flags = ("-cubin", f"-arch={arch}", "-lineinfo", "--keep", "-Xptxas=-v", "-o", "out.cubin")
        said = _ran([command["nvcc"], *flags, USER_FILE], folder)
        cubin = folder / "out.cubin"
        if said.returncode or not cubin.exists():
            return {"error": _told(said, folder)}
        machine_code = _ran([command["nvdisasm"], "-gi", "-c", str(cubin)], folder)
        ptx = next(iter(folder.glob("*.ptx")), None)
        log = _told(said, folder, LONGEST_TEXT)
        return {
            "log": log,
            "names": _names(log, folder),
            "sass": machine_code.stdout[:LONGEST_TEXT],
            "ptx": ptx.read_text(encoding="utf-8")[:LONGEST_TEXT] if ptx else "",
        }


def _names(log: str, folder: Path) -> dict[str, str]:
    """What the source calls each kernel that the log names by its symbol; nothing without c++filt."""
    symbols = re.findall(r"Compiling entry function '([^']+)'", log)
    said = _ran(["c++filt", *symbols], folder)
    return dict(zip(symbols, said.stdout.splitlines(), strict=False))


def _ran(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(  # noqa: S603 - tools that the judge names, on a file just written
            command,
            cwd=folder,
            env={"PATH": "/usr/bin:/bin", "TMPDIR": str(folder), "LANG": "C.UTF-8"},
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=NVCC_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        words = f"stopped after {NVCC_SECONDS:g} s: compiling takes too long"
        return subprocess.CompletedProcess(command, 1, "", words)
    except OSError as error:
        return subprocess.CompletedProcess(command, 1, "", str(error))


def _told(said: subprocess.CompletedProcess[str], folder: Path, most: int = LONGEST_ERROR) -> str:
    text = f"{said.stdout}{said.stderr}".replace(f"{folder}/", "").strip()
    return text[:most] or f"the compiler ended with {said.returncode} and said nothing"


if __name__ == "__main__":
    NvccHarness(channel.Channel()).serve()
