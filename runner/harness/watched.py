"""Puts a watcher between Triton's interpreter and memory.

The interpreter computes with bare addresses. Here every pointer remembers which tensor it was made from
(a handle's `attr`), so that an access that runs from one tensor into another is still one of the first;
and loads, stores and atomic operations ask the watcher, which may take lanes away, before they touch
memory. `counting` hears of every operation, too.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np
import torch
import triton.language as tl
from triton.runtime import interpreter
from triton.runtime.interpreter import GridExecutor, InterpreterBuilder, TensorHandle
from triton.tools.tensor_descriptor import TensorDescriptor

from .shadow import Array

_TENSOR = "tensor"
# Operations that return their first operand's pointers, moved or in another shape.
_KEEP = (
    "create_addptr",
    "create_splat",
    "create_unsplat",
    "create_broadcast",
    "create_expand_dims",
    "create_trans",
    "create_bitcast",
    "create_ptr_to_int",
    "create_int_to_ptr",
    "create_gather",
)


class Watcher(Protocol):
    """Hears of everything that touches memory. `name` is the kernel's parameter that a pointer comes
    from, None if that was lost; masks that are returned say which lanes may go on."""

    def arguments(self, bound: dict[str, Any]) -> dict[str, Any]:
        """What the kernel is given instead of its arguments."""

    def begin_launch(
        self, kernel: str, tensors: dict[str, Any], grid: tuple[int, int, int]
    ) -> None: ...

    def programs(self, grid: tuple[int, int, int]) -> Iterable[tuple[int, ...]]:
        """Which programs run, in which order."""

    def begin_program(self, program: tuple[int, ...]) -> None: ...

    def load(self, name: str | None, addresses: Array, mask: Array, itemsize: int) -> Array: ...

    def store(
        self, name: str | None, addresses: Array, mask: Array, values: Array, itemsize: int
    ) -> Array: ...

    def change(
        self, name: str | None, addresses: Array, mask: Array, itemsize: int, *, reads: bool = True
    ) -> Array: ...


_watcher: list[Watcher] = []


@contextmanager
def watched_by(watcher: Watcher) -> Any:
    """For the time of the block every launch is told to `watcher`."""
    _watcher.append(watcher)
    try:
        yield
    finally:
        _watcher.pop()


def install() -> None:
    """Patch the interpreter once; without a watcher it does as before."""
    builder = InterpreterBuilder
    for name in _KEEP:
        setattr(builder, name, _keeping(getattr(builder, name)))
    builder.create_select = _select(builder.create_select)
    builder.create_masked_load = _load(builder.create_masked_load)
    builder.create_masked_store = _store(builder.create_masked_store)
    builder.create_atomic_rmw = _change(builder.create_atomic_rmw)
    builder.create_atomic_cas = _exchange(builder.create_atomic_cas)
    for handle in (interpreter.BlockPointerHandle, interpreter.TensorDescHandle):
        handle.materialize_pointers = _materialize(handle.materialize_pointers)
    GridExecutor.__call__ = _executed(GridExecutor.__call__)


def _keeping(original: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        for operand in args:
            if isinstance(operand, TensorHandle) and _TENSOR in operand.attr:
                result.attr[_TENSOR] = operand.attr[_TENSOR]
                break
        return result

    return method


def _select(original: Callable[..., Any]) -> Callable[..., Any]:
    def create_select(self: Any, condition: Any, one: Any, other: Any) -> Any:
        result = original(self, condition, one, other)
        names = {h.attr.get(_TENSOR) for h in (one, other)}
        if len(names) == 1 and None not in names:
            result.attr[_TENSOR] = names.pop()
        return result

    return create_select


def _materialize(original: Callable[..., Any]) -> Callable[..., Any]:
    def materialize_pointers(self: Any, given: Any) -> Any:
        pointers, masks = original(self, given)
        if _TENSOR in self.base.attr:
            pointers.attr[_TENSOR] = self.base.attr[_TENSOR]
        return pointers, TensorHandle(masks, tl.int1)

    return materialize_pointers


def _load(original: Callable[..., Any]) -> Callable[..., Any]:
    def create_masked_load(
        self: Any, ptrs: Any, mask: Any, other: Any, *rest: Any, **options: Any
    ) -> Any:
        if _watcher:
            mask = _narrowed(_watcher[-1].load, ptrs, mask)
        return original(self, ptrs, mask, other, *rest, **options)

    return create_masked_load


def _store(original: Callable[..., Any]) -> Callable[..., Any]:
    def create_masked_store(self: Any, ptrs: Any, value: Any, mask: Any, *rest: Any) -> Any:
        if _watcher:
            values = np.ascontiguousarray(np.broadcast_to(value.data, ptrs.data.shape))
            mask = _narrowed(_watcher[-1].store, ptrs, mask, values)
        return original(self, ptrs, value, mask, *rest)

    return create_masked_store


def _change(original: Callable[..., Any]) -> Callable[..., Any]:
    def create_atomic_rmw(self: Any, op: Any, ptr: Any, val: Any, mask: Any, *rest: Any) -> Any:
        if _watcher:
            reads = "XCHG" not in str(op)
            mask = _narrowed(_watcher[-1].change, ptr, mask, reads=reads)
        return original(self, op, ptr, val, mask, *rest)

    return create_atomic_rmw


def _exchange(original: Callable[..., Any]) -> Callable[..., Any]:
    def create_atomic_cas(self: Any, ptr: Any, *rest: Any) -> Any:
        if _watcher:
            every = TensorHandle(np.ones_like(ptr.data, dtype=bool), tl.int1)
            if not _narrowed(_watcher[-1].change, ptr, every).data.all():
                raise IndexError("atomic_cas outside of the tensor")
        return original(self, ptr, *rest)

    return create_atomic_cas


def _narrowed(ask: Callable[..., Array], ptrs: Any, mask: Any, *more: Any, **options: Any) -> Any:
    shape = ptrs.data.shape
    active = np.ascontiguousarray(np.broadcast_to(np.asarray(mask.data, dtype=bool), shape))
    itemsize = max(1, ptrs.get_element_ty().primitive_bitwidth // 8)
    addresses = np.ascontiguousarray(ptrs.data)
    allowed = ask(ptrs.attr.get(_TENSOR), addresses, active, *more, itemsize, **options)
    return TensorHandle(allowed, tl.int1)


def _executed(original: Callable[..., Any]) -> Callable[..., Any]:
    """The interpreter's loop over the grid, with names on pointers and a word before each program."""

    def call(self: Any, *args_dev: Any, **kwargs: Any) -> None:
        if not _watcher:
            original(self, *args_dev, **kwargs)
            return
        with (
            torch._C._DisableTorchDispatch()
        ):  # what the interpreter does is not the submission's doing
            _run(self, _watcher[-1], args_dev, kwargs)

    return call


def _run(executor: Any, watcher: Watcher, given: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    taken = inspect.getfullargspec(executor.fn).args
    kwargs = {k: v for k, v in kwargs.items() if k in taken}
    for hook in executor.pre_run_hooks:
        hook(*given, **kwargs)
    scope = interpreter._patch_lang(executor.fn)
    try:
        bound = watcher.arguments(inspect.getcallargs(executor.fn, *given, **kwargs))
        args = {
            name: value if name in executor.constexprs else _converted(name, value)
            for name, value in bound.items()
        }
        sizes = executor.grid(args) if callable(executor.grid) else executor.grid
        grid = (*sizes, 1, 1, 1)[:3]
        builder = interpreter.interpreter_builder
        builder.set_grid_dim(*grid)
        watcher.begin_launch(executor.fn.__name__, dict(_tensors(bound)), grid)
        for program in watcher.programs(grid):
            builder.set_grid_idx(*program)
            watcher.begin_program(program)
            executor.fn(**args)
    finally:
        scope.restore()


def _converted(name: str, value: Any) -> Any:
    """As the interpreter turns an argument into its own kind of value; pointers get their name."""
    converted = interpreter._implicit_cvt(value)
    if hasattr(value, "data_ptr"):
        converted.handle.attr[_TENSOR] = name
    elif isinstance(value, TensorDescriptor):
        converted.handle.base.attr[_TENSOR] = name
    return converted


def _tensors(bound: dict[str, Any]) -> Any:
    for name, value in bound.items():
        if hasattr(value, "data_ptr"):
            yield name, value
        elif isinstance(value, TensorDescriptor):
            yield name, value.base
        elif isinstance(value, (tuple, list)):
            yield from _tensors({f"{name}[{i}]": v for i, v in enumerate(value)})
