"""Calls a file's functions on cases: gradients.py FILE PROBLEM PAIRS RESULT.

PAIRS is JSON, a list of [case name, seed]. RESULT becomes {"gradients": the gradients of each pair,
"seconds": what each call took}. As a module, `gradients` does the same within this process.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

if os.environ.get("TRITON_INTERPRET") == "1":
    from runner.harness import interpreter

    interpreter.install()

import torch

from problems import Problem, get_problem
from problems.pairs import whole
from problems.spec import Gradients

Pairs = Sequence[tuple[str, int]]
Backward = Callable[..., Gradients | torch.Tensor]


def gradients(file: Path, slug: str, pairs: Pairs) -> tuple[list[Gradients], list[float]]:
    """Gradients and seconds of each pair; calls must repeat and leave their arguments alone."""
    problem, submission = get_problem(slug), load(file)
    cases = {case.name: case for case in problem.cases}
    found, seconds = [], []
    for name, seed in pairs:
        arguments = problem.make_arguments(cases[name], seed)
        before = {n: t.clone() for n, t in arguments.items()}
        start = time.perf_counter()
        first = answering(problem, submission, watching=True)(**arguments)
        seconds.append(time.perf_counter() - start)
        again = answering(problem, submission)(**arguments)
        for argument, tensor in before.items():
            same = torch.equal(tensor, arguments[argument])
            assert same, f"{name}: {argument} was changed"
        _check(name, first, again)
        found.append(first)
    return found, seconds


def _watching_buffers(backward: Backward, problem: Problem) -> Backward:
    """`backward`, which must return each buffer that it is given as the gradient to be added there."""

    def watched(*given: torch.Tensor | None) -> Gradients:
        buffers = dict(zip(problem.argument_names, given, strict=True))
        returned = backward(*given)
        found = (returned,) if isinstance(returned, torch.Tensor) else tuple(returned)
        for spec, gradient in zip(problem.gradients, found, strict=True):
            buffer = buffers.get(spec.buffer)
            same = buffer is None or gradient.data_ptr() == buffer.data_ptr()
            assert same, f"{spec.name} is not {spec.buffer}, though it was given"
        return found

    return watched


def _check(name: str, first: Gradients, again: Gradients) -> None:
    for a, b in zip(first, again, strict=True):
        assert torch.equal(a, b), f"{name}: two calls differ"
        assert a.is_contiguous(), f"{name}: a gradient is not contiguous"
    memories = [t.untyped_storage().data_ptr() for t in (*first, *again)]
    assert len(set(memories)) == len(memories), f"{name}: gradients share memory"


def answering(
    problem: Problem, submission: ModuleType, *, watching: bool = False
) -> Callable[..., Gradients]:
    """The submission as one function from the problem's arguments to gradients."""
    if problem.pair is not None:
        return whole(problem, submission.forward, submission.backward)
    backward = submission.backward
    if watching:
        backward = _watching_buffers(backward, problem)
    return lambda **arguments: problem.call(backward, arguments)


def load(file: Path) -> ModuleType:
    """The submission in `file` as a module."""
    spec = importlib.util.spec_from_file_location("submission", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    _, path, slug, pairs, result = sys.argv
    tensors, times = gradients(Path(path), slug, json.loads(pairs))
    torch.save({"gradients": tensors, "seconds": times}, result)
