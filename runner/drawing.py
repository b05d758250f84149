"""Seeds and sizes of cases: public ones never change, hidden ones are a submission's own."""

from __future__ import annotations

import secrets
import zlib
from dataclasses import replace

from problems import Problem
from problems.spec import Case, Dims

# Sizes from here on vary; smaller ones are what their case is about.
SMALLEST = 8
# A drawn size is larger by at most this share.
MOST = 0.25


def drawn(case: Case) -> Case:
    """A hidden case in sizes of this submission's own, at least as large as they are written."""
    dims = {
        name: size + secrets.randbelow(_room(size) + 1) if size >= SMALLEST else size
        for name, size in case.dims.items()
    }
    return replace(case, dims=dims)


def largest(dims: Dims) -> dict[str, int]:
    """The largest sizes that may be drawn for a case of `dims`."""
    return {n: size + _room(size) if size >= SMALLEST else size for n, size in dims.items()}


def _room(size: int) -> int:
    return int(size * MOST)


def seed(problem: Problem, case: Case) -> int:
    """Public cases: always the same, to be repeated at home. Hidden ones: new each time."""
    if case.public:
        return zlib.crc32(f"{problem.slug}/{case.name}".encode())
    return secrets.randbits(62)
