"""Atomic operations that the interpreter's C++ side lacks: of bfloat16, and of whole descriptors.

Runs inside the sandbox.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import triton.language as tl
from triton._C.libtriton import ir
from triton.runtime import interpreter

from . import floats
from .floats import Array

Handle = interpreter.TensorHandle
_KIND = ir.DESCRIPTOR_REDUCE_KIND
_OPERATIONS: dict[Any, Callable[[Array, Array], Array]] = {
    ir.ATOMIC_OP.FADD: np.add,
    ir.ATOMIC_OP.ADD: np.add,
    ir.ATOMIC_OP.MAX: np.maximum,
    ir.ATOMIC_OP.MIN: np.minimum,
}


def atomic_rmw(original: Any) -> Any:
    """The builder's `create_atomic_rmw`: bfloat16 here, also the minima and maxima of float16."""

    def create_atomic_rmw(
        self: Any, op: Any, ptr: Any, val: Any, mask: Any, sem: Any, scope: Any
    ) -> Any:
        dtype = val.data.dtype
        if dtype == floats.BFLOAT16 or (dtype == np.float16 and op != ir.ATOMIC_OP.FADD):
            return Handle(_in_turns(ptr, val, mask, _OPERATIONS[op]), val.dtype.scalar)
        return original(self, op, ptr, val, mask, sem, scope)

    return create_atomic_rmw


def _in_turns(ptr: Any, val: Any, mask: Any, operation: Callable[[Array, Array], Array]) -> Array:
    """What was at each address before. Lanes with one address go one after the other, as in hardware;
    all lanes with different addresses at once."""
    shape = ptr.data.shape
    pointers = np.array(np.broadcast_to(ptr.data, shape)).reshape(-1)
    values = np.array(np.broadcast_to(val.data, shape)).reshape(-1)
    before = np.zeros(pointers.shape, dtype=values.dtype)
    lanes = np.flatnonzero(np.broadcast_to(mask.data, shape))
    raw = floats.raw_dtype(values.dtype)
    while lanes.size:
        _, first = np.unique(pointers[lanes], return_index=True)
        now = lanes[first]
        everything = np.ones(now.size, dtype=bool)
        zeros = np.zeros(now.size, dtype=raw)
        old = interpreter._interpreter.load(pointers[now], everything, zeros, raw)
        before[now] = old.view(values.dtype)
        new = floats.raw(operation(before[now], values[now]))
        interpreter._interpreter.store(pointers[now], new, everything)
        lanes = np.delete(lanes, first)
    return before.reshape(shape)


def descriptor_reduce(self: Any, kind: Any, desc: Any, value: Any, indices: Any) -> None:
    """The builder's `create_descriptor_reduce`: what lies outside of the tensor is left out."""
    pointers, inside = desc.materialize_pointers(indices)
    mask = inside if isinstance(inside, Handle) else Handle(inside, tl.int1)
    op = _atomic_op(kind, pointers.get_element_ty())
    self.create_atomic_rmw(
        op, pointers, value, mask, ir.MEM_SEMANTIC.RELAXED, ir.MEM_SYNC_SCOPE.GPU
    )


def _atomic_op(kind: Any, dtype: Any) -> Any:
    if kind == _KIND.ADD:
        return ir.ATOMIC_OP.FADD if dtype.is_floating() else ir.ATOMIC_OP.ADD
    if kind in (_KIND.MIN, _KIND.MAX):
        name = "MIN" if kind == _KIND.MIN else "MAX"
        return getattr(ir.ATOMIC_OP, f"U{name}" if dtype.is_int_unsigned() else name)
    return getattr(ir.ATOMIC_OP, kind.name)
