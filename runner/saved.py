"""What a pair's `forward` saved, read from the memory shared with its process.

The process says dtypes and shapes; each is checked, and sizes and places are computed here. The bytes
themselves mean nothing to the judge: they are handed to the process that runs `backward`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

import torch

from problems.pairs import MOST_TENSORS, Saved
from runner.failures import SessionFailed
from runner.memory import aligned
from wire.verdict import Verdict

DTYPES: Mapping[str, torch.dtype] = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        torch.bfloat16,
        torch.float16,
        torch.float32,
        torch.float64,
        torch.float8_e4m3fn,
        torch.float8_e5m2,
        torch.bool,
        torch.uint8,
        torch.int8,
        torch.int16,
        torch.int32,
        torch.int64,
    )
}
_MOST_DIMENSIONS = 8
_LONGEST = 1 << 40


def read_saved(told: Any, memory: memoryview, begin: int, most: int) -> Saved:
    """The tensors that a process says it laid down from `begin` on, one after the other.

    `most` bounds the bytes of their elements. Snapshots: the sandbox can no longer change them.

    Raises:
        SessionFailed: they are too many or too large, or the process told nonsense.
    """
    if not isinstance(told, list):
        raise SessionFailed(Verdict.INVALID_OUTPUT, "The process did not say what forward saved.")
    if len(told) > MOST_TENSORS:
        raise SessionFailed(
            Verdict.INVALID_OUTPUT,
            f"forward saves {len(told)} tensors; at most {MOST_TENSORS} are handed over.",
        )
    kinds = [_kind(one) for one in told]
    total = sum(math.prod(shape) * dtype.itemsize for dtype, shape in kinds)
    if total > most:
        raise SessionFailed(
            Verdict.INVALID_OUTPUT,
            f"forward saves {total:,} bytes where at most {most:,} may be saved.",
        )
    found = []
    for dtype, shape in kinds:
        size = math.prod(shape) * dtype.itemsize
        found.append(_snapshot(memory[begin : begin + size], dtype, shape))
        begin += aligned(size)
    return tuple(found)


def _kind(told: Any) -> tuple[torch.dtype, tuple[int, ...]]:
    kind = told if isinstance(told, dict) else {}
    name, shape = kind.get("dtype"), kind.get("shape")
    if not isinstance(name, str) or name not in DTYPES or not _is_shape(shape):
        raise SessionFailed(
            Verdict.INVALID_OUTPUT, "The process told nonsense about what forward saved."
        )
    return DTYPES[name], tuple(shape)


def _is_shape(shape: Any) -> TypeGuard[list[int]]:
    return (
        isinstance(shape, list)
        and len(shape) <= _MOST_DIMENSIONS
        and all(type(size) is int and 0 <= size <= _LONGEST for size in shape)
    )


def _snapshot(raw: memoryview, dtype: torch.dtype, shape: Sequence[int]) -> torch.Tensor:
    if not len(raw):
        return torch.empty(tuple(shape), dtype=dtype)
    return torch.frombuffer(bytearray(raw), dtype=dtype).reshape(tuple(shape))
