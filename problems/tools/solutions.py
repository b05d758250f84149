"""Runs and compiles the files that solve problems, or try to: PyTorch here, Triton in its interpreter.

Triton reads TRITON_INTERPRET when it is imported, so the interpreter needs a process of its own; the
same process has bfloat16 made right as in a sandbox. Files are trusted: they are this repository's.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch

from problems.spec import Gradients, Language, Problem
from problems.tools.programs.gradients import gradients

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent / "programs"
# A100, H100 and B200, by compute capability.
TARGETS = (80, 90, 100)
SLOWEST = 600  # seconds that a program may take on a busy machine

Pair = tuple[str, int]  # a case's name and a seed


class Unfit(Exception):
    """A file does not run or compile; the message is its program's own."""


@dataclass(frozen=True)
class Kernel:
    """A kernel compiled for one target and GPU benchmark: registers a thread, bytes, and how it loads.

    `spilled` is what does not fit in registers, in bytes a thread; `shared` is memory of a program.
    """

    target: int
    benchmark: str
    kernel: str
    registers: int
    spilled: int
    shared: int
    wide_loads: bool


def language_of(file: Path) -> Language:
    """What a file of kernels/ is written in: triton.py and triton_atomics.py are Triton."""
    return Language(file.stem.split("_")[0])


def solution_files(problem: Problem) -> tuple[Path, ...]:
    """Every reference solution of `problem`, by name."""
    return tuple(sorted((ROOT / "kernels" / problem.slug).glob("*.py")))


def starter_file(problem: Problem, language: Language) -> Path:
    return problem.package / "starters" / f"{language}.py"


def gradients_of(
    problem: Problem, file: Path, pairs: Sequence[Pair]
) -> tuple[list[Gradients], list[float]]:
    """The gradients that `file` returns for each pair, and the seconds that each call took.

    Raises:
        Unfit: it fails, changes its arguments, or returns something else when called again.
    """
    return _gradients(file, problem.slug, tuple(pairs))


@cache
def _gradients(
    file: Path, slug: str, pairs: tuple[Pair, ...]
) -> tuple[list[Gradients], list[float]]:
    if language_of(file) is Language.PYTORCH:
        try:
            return gradients(file, slug, pairs)
        except Exception as error:
            raise Unfit(f"{type(error).__name__}: {error}") from error
    found = _run("gradients.py", file, slug, json.dumps(pairs), interpret=True)
    return found["gradients"], found["seconds"]


@cache
def compiled(slug: str, file: Path, targets: tuple[int, ...] = TARGETS) -> tuple[Kernel, ...]:
    """Every kernel that a Triton file launches on the GPU benchmarks, compiled without a GPU.

    Raises:
        Unfit: it does not compile.
    """
    names = ",".join(map(str, targets))
    return tuple(Kernel(**k) for k in _run("compilation.py", file, slug, names, interpret=False))


def traffic(problem: Problem, file: Path, case: str) -> tuple[int, int]:
    """Bytes that a Triton file's kernels move in a case, and of how many different addresses."""
    counted = _run("traffic.py", file, problem.slug, case, interpret=True)
    return counted["moved"], counted["touched"]


def _run(program: str, file: Path, slug: str, what: str, *, interpret: bool) -> Any:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TRITON_INTERPRET": str(int(interpret))}
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.pt"
        environment["TRITON_CACHE_DIR"] = folder
        done = subprocess.run(
            [sys.executable, PROGRAMS / program, file, slug, what, result],
            env=environment,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=SLOWEST,
            check=False,
        )
        if done.returncode:
            raise Unfit(done.stderr.strip())
        return torch.load(result, weights_only=True)
