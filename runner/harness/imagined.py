"""A call of `backward` at any size: floating tensors have shapes and no values, integers have both.

What a kernel moves and which kernels are launched hardly depends on floating values, and they fill a
GPU's memory; indices, targets and lengths are small and decide what is touched. PyTorch's fake tensors
stand for the first; what is made of integers alone is computed. All of it is on the processor and says
that it is on a GPU. Every operation of PyTorch is told to whoever counts them.
"""

from __future__ import annotations

import base64
import contextlib
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from unittest import mock

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter, tree_map_only

from .tensors import DTYPES

GPU = torch.device("cuda", 0)
CPU = torch.device("cpu")
# An integer tensor larger than this has no values either.
MOST_BYTES = 64 << 20

# (operation, its arguments, its result)
Heard = Callable[[Any, tuple[Any, ...], dict[str, Any], Any], None]


class _Computed(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch has few types
    """Computes what has integers alone going in and coming out; of everything else only the shape."""

    def __init__(self, heard: Heard | None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # as above
        self.fakes = FakeTensorMode()
        self.inside = False
        self._heard = heard

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        before, self.inside = self.inside, True
        try:
            result = self._run(func, args, kwargs)
        finally:
            self.inside = before
        if self._heard is not None:
            self._heard(func, args, kwargs, result)
        return result

    def _run(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        tensors = [t for t in tree_iter((args, kwargs)) if isinstance(t, torch.Tensor)]
        known = not any(isinstance(t, FakeTensor) for t in tensors)
        if known and func is torch.ops.aten._local_scalar_dense.default:
            return func(*args, **kwargs)
        imagined = tree_map_only(torch.Tensor, self.imagined, (args, kwargs))
        with self.fakes:
            result = func(*imagined[0], **imagined[1])
        made = [t for t in tree_iter(result) if isinstance(t, torch.Tensor)]
        if known and all(map(_has_values, made)):
            result = func(*args, **kwargs)
            if "empty" in func.__name__:
                result.zero_()  # the same at every call
        return result

    def imagined(self, tensor: torch.Tensor) -> torch.Tensor:
        """`tensor` without values."""
        if isinstance(tensor, FakeTensor):
            return tensor
        return self.fakes.from_tensor(tensor, static_shapes=True)


def _has_values(tensor: torch.Tensor) -> bool:
    size = tensor.numel() * tensor.dtype.itemsize
    return not (tensor.is_floating_point() or tensor.is_complex()) and size <= MOST_BYTES


class _OnGpu(TorchFunctionMode):
    """Tensors say that they are on a GPU, and whoever asks for one there gets one here."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if func in _ANSWERS:
            return _ANSWERS[func]
        if func in (torch.Tensor.cuda, torch.Tensor.cpu, torch.Tensor.pin_memory):
            return args[0]
        args, kwargs = (tree_map_only((str, torch.device), _here, x) for x in (args, kwargs or {}))
        return func(*args, **kwargs)


_TENSOR: Any = torch.Tensor  # its properties are not what its types say
_ANSWERS = {
    _TENSOR.device.__get__: GPU,
    _TENSOR.is_cuda.__get__: True,
    _TENSOR.is_cpu.__get__: False,
    _TENSOR.get_device: 0,
}


def _here(value: Any) -> Any:
    if isinstance(value, torch.device):
        return CPU if value.type == GPU.type else value
    return "cpu" if value.partition(":")[0] == GPU.type else value


@contextlib.contextmanager
def imagining(heard: Heard | None = None) -> Iterator[None]:
    """For the time of the block tensors are as above; `heard` is called after each operation."""
    computed = _Computed(heard)
    told: Any = FakeTensor.device

    def device(self: FakeTensor) -> torch.device:
        found: torch.device = told.fget(self) if computed.inside else GPU
        return found

    with mock.patch.object(FakeTensor, "device", property(device)), computed, _OnGpu():
        yield


def arguments(specs: Sequence[dict[str, Any]]) -> dict[str, torch.Tensor]:
    """Tensors of these specs by name: dtype, shape, stride, and `values` where they are known.

    Inside `imagining` those without values have no memory; elsewhere they are zeros.
    """
    return {spec["name"]: _argument(spec) for spec in specs}


def _argument(spec: dict[str, Any]) -> torch.Tensor:
    dtype = DTYPES[spec["dtype"]]
    if "values" not in spec:
        return torch.empty_strided(spec["shape"], spec["stride"], dtype=dtype).zero_()
    raw = bytearray(zlib.decompress(base64.b64decode(spec["values"])))
    flat = torch.frombuffer(raw, dtype=dtype).clone()  # clone: a storage as others have it
    return flat.as_strided(spec["shape"], spec["stride"])
