"""Counts what an interpreted kernel computes, by kind; and notices 32-bit integers that wrap.

Kinds: "vector" (additions, multiplications, divisions, a fused multiply-add as two), "special"
(exponentials, logarithms, roots, sines: the special function unit's), and "tensor_<dtype>" (matrix
products, two for each multiply-add). Elements of masked lanes count: the hardware computes them too.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime import interpreter
from triton.runtime.interpreter import InterpreterBuilder, TensorHandle

_VECTOR = ("create_fadd", "create_fsub", "create_fmul", "create_fdiv", "create_precise_divf")
_SPECIAL = (
    *("create_exp", "create_exp2", "create_log", "create_log2", "create_sin", "create_cos"),
    *("create_sqrt", "create_precise_sqrt", "create_rsqrt", "create_erf"),
)
_INTEGER = {"create_add": np.add, "create_sub": np.subtract, "create_mul": np.multiply}


class Counts:
    """What one program computed. `wrapped` is called when a 32-bit integer wraps round."""

    def __init__(self, wrapped: Callable[[], None]) -> None:
        self.flops: Counter[str] = Counter()
        self.wrapped = wrapped


_counts: list[Counts] = []


@contextmanager
def counting(counts: Counts) -> Any:
    """For the time of the block everything computed is added to `counts`; products of matrices are
    counted and not computed."""
    _counts.append(counts)
    try:
        yield
    finally:
        _counts.pop()


def install() -> None:
    """Patch the interpreter once; without `counting` it does as before."""
    builder = InterpreterBuilder
    for name in _VECTOR:
        setattr(builder, name, _counted(getattr(builder, name), "vector", 1))
    for name in _SPECIAL:
        setattr(builder, name, _counted(getattr(builder, name), "special", 1))
    builder.create_fma = _counted(builder.create_fma, "vector", 2)
    builder.create_dot = _dot(builder.create_dot)
    for name, operation in _INTEGER.items():
        setattr(builder, name, _integer(getattr(builder, name), operation))
    interpreter.ReduceOps.apply_impl = _reduced(interpreter.ReduceOps.apply_impl)
    interpreter.ScanOps.apply_impl = _reduced(interpreter.ScanOps.apply_impl)


def _counted(original: Callable[..., Any], kind: str, each: int) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        if _counts:
            _counts[-1].flops[kind] += each * result.data.size
        return result

    return method


def _dot(original: Callable[..., Any]) -> Callable[..., Any]:
    def create_dot(self: Any, a: Any, b: Any, d: Any, *rest: Any) -> Any:
        if not _counts:
            return original(self, a, b, d, *rest)
        *_, rows, inner = a.data.shape
        batch = math.prod(a.data.shape[:-2])
        flops = 2 * batch * rows * inner * b.data.shape[-1]
        _counts[-1].flops[f"tensor_{a.dtype.scalar}"] += flops
        return TensorHandle(d.data, d.dtype.scalar)

    return create_dot


def _integer(original: Callable[..., Any], operation: Any) -> Callable[..., Any]:
    def method(self: Any, lhs: Any, rhs: Any) -> Any:
        result = original(self, lhs, rhs)
        if _counts and result.data.dtype == np.int32 and lhs.dtype.scalar == tl.int32:
            exact = operation(lhs.data.astype(np.int64), rhs.data.astype(np.int64))
            if (exact != result.data).any():
                _counts[-1].wrapped()
        return result

    return method


def _reduced(original: Callable[..., Any]) -> Callable[..., Any]:
    def apply_impl(self: Any, given: Any) -> Any:
        if _counts:
            sizes = [t.handle.data.size for t in given if t.dtype.is_floating()]
            _counts[-1].flops["vector"] += sum(sizes)
        return original(self, given)

    return apply_impl
