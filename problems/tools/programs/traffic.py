"""Counts what a file's Triton kernels load and store: traffic.py FILE PROBLEM CASE RESULT.

RESULT becomes {"moved": bytes of all loads and stores, "touched": bytes of the different addresses}.
What PyTorch does around the kernels is not seen.
"""

import sys
from pathlib import Path

import numpy as np
import torch
from gradients import answering, load
from triton.runtime import interpreter

from problems import get_problem

SEED = 1


class Counting:
    """Stands in for the interpreter's memory and remembers every address."""

    def __init__(self, memory):
        self._memory = memory
        self.moved = 0
        self._addresses = {"load": [], "store": []}

    def __getattr__(self, name):
        return getattr(self._memory, name)

    def load(self, ptrs, mask, other, dtype):
        self._remember("load", ptrs, mask, np.dtype(dtype).itemsize)
        return self._memory.load(ptrs, mask, other, dtype)

    def store(self, ptrs, value, mask):
        self._remember("store", ptrs, mask, value.dtype.itemsize)
        return self._memory.store(ptrs, value, mask)

    def atomic_rmw(self, op, ptrs, value, mask, semantics):
        self._remember("store", ptrs, mask, value.dtype.itemsize)
        return self._memory.atomic_rmw(op, ptrs, value, mask, semantics)

    def _remember(self, kind, ptrs, mask, size):
        used = ptrs[np.broadcast_to(mask, ptrs.shape)].ravel()
        self.moved += used.size * size
        self._addresses[kind].append((used[:, None] + np.arange(size, dtype=used.dtype)).ravel())

    def touched(self):
        """Different bytes loaded, and different bytes stored."""
        return sum(len(np.unique(np.concatenate(a))) for a in self._addresses.values() if a)


def main(file, slug, case_name, result):
    problem, submission = get_problem(slug), load(Path(file))
    (case,) = (c for c in problem.cases if c.name == case_name)
    arguments = problem.make_arguments(case, SEED)
    counting = interpreter._interpreter = Counting(interpreter._interpreter)
    answering(problem, submission)(**arguments)
    torch.save({"moved": counting.moved, "touched": counting.touched()}, result)


main(*sys.argv[1:])
