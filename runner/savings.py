"""What a pair saves for `backward`, beside what plain PyTorch saves at the same shape."""

from __future__ import annotations

from problems import Problem
from problems.pairs import Saved, bytes_of, plainly_saved
from problems.spec import Benchmark, Case
from runner.memory import dtype_name
from wire.verdict import SavedTensor, Saving

NAME = "saved_bytes"
WHY = "What is saved is measured on this shape, the same for everybody, and new values."


def measuring(benchmark: Benchmark) -> Case:
    """The case on which saved bytes are measured where nothing is timed."""
    return Case(NAME, benchmark.dims, WHY, public=False)


def saving(problem: Problem, benchmark: Benchmark, saved: Saved) -> Saving:
    """What was handed over at a shape, tensor by tensor."""
    return Saving(
        name=benchmark.name,
        model=benchmark.model,
        dims=dict(benchmark.dims),
        tensors=tuple(
            SavedTensor(dtype_name(t.dtype), tuple(t.shape), bytes_of((t,))) for t in saved
        ),
        bytes=bytes_of(saved),
        baseline=bytes_of(plainly_saved(problem, benchmark.dims)),
    )
