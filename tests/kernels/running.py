"""Runs a submission's file over all cases of its problem: PyTorch here, Triton in its interpreter.

Triton reads TRITON_INTERPRET when it is imported, so the interpreter needs a process of its own; the
same process has bfloat16 made right as in a sandbox.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import torch

from problems import Language, Problem
from problems.spec import Gradients
from tests.kernels.programs.gradients import gradients

SEED = 11
ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent / "programs"


def starter_path(problem: Problem, language: Language) -> Path:
    return problem.package / "starters" / f"{language}.py"


def solution_path(problem: Problem, language: Language) -> Path:
    return ROOT / "kernels" / problem.slug / f"{language}.py"


def gradients_of(problem: Problem, file: Path, language: Language) -> dict[str, Gradients]:
    """The gradients that `file` returns, by case name, for arguments drawn from SEED."""
    found: dict[str, Gradients]
    if language is Language.PYTORCH:
        found = _gradients_here(file, problem.slug)
    else:
        found = _run_program("gradients.py", file, problem.slug, interpret=True)
    return found


def compiled_kernels(problem: Problem, file: Path) -> dict[str, str]:
    """PTX for an H100 of every kernel that `file` launches on a benchmark shape, by kernel name."""
    kernels: dict[str, str] = _run_program("compilation.py", file, problem.slug, interpret=False)
    return kernels


@cache
def _gradients_here(file: Path, slug: str) -> dict[str, Gradients]:
    return gradients(file, slug, SEED)


@cache
def _run_program(program: str, file: Path, slug: str, interpret: bool) -> Any:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TRITON_INTERPRET": str(int(interpret))}
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.pt"
        environment["TRITON_CACHE_DIR"] = folder
        done = subprocess.run(
            [sys.executable, PROGRAMS / program, file, slug, str(SEED), result],
            env=environment,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        return torch.load(result, weights_only=True)
