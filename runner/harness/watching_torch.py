"""What PyTorch does between a submission's kernels: which tensors it allocates without filling them,
which it fills, and whether it reads what nobody wrote."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .shadow import Memories

_EMPTY = ("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided")
# These take a tensor for its shape, dtype and device alone.
_LIKE = (
    *("zeros_like", "ones_like", "full_like", "rand_like", "randn_like"),
    *("new_zeros", "new_ones", "new_full", "resize_", "set_", "sym_size", "is_pinned"),
)

_FILLING = ("copy_", "zero_", "fill_", "normal_", "uniform_")

Report = Callable[[str, torch.Tensor, int], None]


class WatchTorch(TorchDispatchMode):  # type: ignore[no-untyped-call]  # PyTorch's, without types
    """Keeps `memories` true while PyTorch computes. `report` is called with an operation's name, a
    tensor that it reads and how many of its elements nobody wrote."""

    def __init__(self, memories: Memories, report: Report) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # a library's, without types
        self._memories = memories
        self._report = report

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Nothing is compiled here, and PyTorch's compiler takes seconds to import."""
        return False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        name = func._schema.name.split("::")[-1]
        written = list(_written(func, args, kwargs))
        if name not in _EMPTY and name not in _LIKE and not _is_view(func):
            self._check_reads(name, written, args, kwargs)
        result = func(*args, **kwargs)
        if name in _EMPTY:
            self._memories.fresh(result)
        for tensor in written:
            self._memories.wrote(tensor)
        return result

    def _check_reads(self, name: str, written: list[Any], args: Any, kwargs: Any) -> None:
        for tensor in _tensors((*args, *kwargs.values())):
            only_written = (
                not name.endswith("_") or name in _FILLING
            )  # an `out=` argument, or filled
            if only_written and any(tensor is w for w in written):
                continue
            missing = len(self._memories.unwritten(tensor))
            if missing:
                self._report(name, tensor, missing)


def _is_view(func: Any) -> bool:
    """Whether the operation only looks at memory in another shape."""
    returns = func._schema.returns
    return bool(returns) and any(
        r.alias_info is not None and not r.alias_info.is_write for r in returns
    )


def _written(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[torch.Tensor]:
    for position, argument in enumerate(func._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            value = args[position] if position < len(args) else kwargs.get(argument.name)
            yield from _tensors([value])


def _tensors(values: Any) -> Iterator[torch.Tensor]:
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)
