"""Calls a file's backward on every case. As a program: gradients.py FILE PROBLEM SEED RESULT."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

if os.environ.get("TRITON_INTERPRET") == "1":
    from runner.harness import interpreter

    interpreter.install()

import torch

from problems import get_problem
from problems.spec import Gradients


def gradients(file: Path, slug: str, seed: int) -> dict[str, Gradients]:
    """The gradients of every case, after checking that calls repeat and leave their arguments alone."""
    problem, submission = get_problem(slug), _load(file)
    found = {}
    for case in problem.cases:
        arguments = problem.make_arguments(case, seed)
        before = {name: t.clone() for name, t in arguments.items()}
        first = _listed(submission.backward(*arguments.values()))
        again = _listed(submission.backward(*arguments.values()))
        for name, tensor in before.items():
            assert torch.equal(tensor, arguments[name]), f"{case.name}: {name} was changed"
        for a, b in zip(first, again, strict=True):
            assert torch.equal(a, b), f"{case.name}: two calls differ"
            assert a.is_contiguous(), f"{case.name}: a gradient is not contiguous"
            assert a.data_ptr() != b.data_ptr(), f"{case.name}: two calls share memory"
        found[case.name] = first
    return found


def _load(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("submission", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _listed(returned: torch.Tensor | Sequence[torch.Tensor]) -> Gradients:
    return (returned,) if isinstance(returned, torch.Tensor) else tuple(returned)


if __name__ == "__main__":
    _, path, name, number, result = sys.argv
    torch.save(gradients(Path(path), name, int(number)), result)
