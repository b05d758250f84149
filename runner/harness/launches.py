"""Which kernels a submission launches, and with what: recorded, not run, on tensors without memory.

A benchmark shape may need gigabytes and, interpreted, hours. On imagined tensors `backward` runs at any
shape at once; the launcher of Triton's kernels is replaced by one that writes down what it was given. A
submission that looks at floating values is run again on zeros, on the CPU.

Runs inside the sandbox, in a process in which kernels are compiled and not interpreted.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from triton.runtime import autotuner
from triton.runtime.jit import JITFunction

from .imagined import arguments, imagining
from .pretended import pretending

MOST_LAUNCHES = 4096


class TooManyLaunches(RuntimeError):
    """More launches than anybody can read."""


class PointerLike:
    """What a launch knows about a tensor: dtype, shape, and how its first element is aligned."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.dtype = tensor.dtype
        self.shape = tuple(tensor.shape)
        self._offset = int(tensor.storage_offset()) * tensor.dtype.itemsize

    def data_ptr(self) -> int:
        """An address as far from a multiple of 16 as the tensor's, if its storage begins at one."""
        return self._offset


@dataclass(frozen=True)
class Launch:
    """One launch: the kernel, its arguments by name (tensors as PointerLike), what it passes to the
    compiler (num_warps ...), and its grid."""

    kernel: JITFunction[Any]
    arguments: dict[str, Any]
    options: dict[str, Any]
    grid: tuple[int, ...]


class Recorder:
    """Takes the place of Triton's launcher and keeps what it sees.

    Of an autotuner's configurations it launches the first whose launches `fit` on `gpu`, as an autotuner
    leaves out those that do not.
    """

    gpu: dict[str, Any]

    def __init__(self, fit: Callable[[Sequence[Launch], dict[str, Any]], bool]) -> None:
        self.launches: list[Launch] = []
        self.remarks: list[str] = []
        self._fit = fit

    def install(self) -> None:
        recorder = self

        def run(self: JITFunction[Any], *args: Any, grid: Any, **kwargs: Any) -> None:
            kwargs.pop("warmup")
            recorder.record(self, args, kwargs, grid)

        JITFunction.run = run
        original = autotuner.Autotuner.run

        def run_first(self: Any, *args: Any, **kwargs: Any) -> Any:
            every = self.configs
            if len(every) == 1:
                return original(self, *args, **kwargs)
            self.nargs = dict(zip(self.arg_names, args, strict=False))
            configs = self.prune_configs(kwargs)
            # Where none fits the first is kept, with what the compiler says of it.
            for last, config in [*((False, each) for each in configs), (True, configs[0])]:
                before = len(recorder.launches)
                self.configs = [config]
                try:
                    result = original(self, *args, **kwargs)
                finally:
                    self.configs = every
                if last or recorder._fit(recorder.launches[before:], recorder.gpu):
                    break
                del recorder.launches[before:]
            recorder.remark(
                f"{self.base_fn.__name__}: autotune has {len(every)} configurations; "
                f"this is the first that fits, {config}"
            )
            return result

        autotuner.Autotuner.run = run_first

    def remark(self, text: str) -> None:
        if text not in self.remarks:
            self.remarks.append(text)

    def record(
        self, kernel: JITFunction[Any], args: Sequence[Any], kwargs: dict[str, Any], grid: Any
    ) -> None:
        """Raises TypeError for arguments that the kernel does not take, TooManyLaunches."""
        if len(self.launches) >= MOST_LAUNCHES:
            raise TooManyLaunches(f"backward launches more than {MOST_LAUNCHES} kernels")
        names = kernel.signature.parameters
        own = {k: v for k, v in kwargs.items() if k in names}
        bound = kernel.signature.bind(*args, **own)
        bound.apply_defaults()
        sizes = grid(bound.arguments) if callable(grid) else grid
        sizes = sizes if isinstance(sizes, (tuple, list)) else (sizes,)
        self.launches.append(
            Launch(
                kernel=kernel,
                arguments={name: _kept(value) for name, value in bound.arguments.items()},
                options={k: v for k, v in kwargs.items() if k not in names},
                grid=tuple(int(size) for size in sizes),
            )
        )


def _kept(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return PointerLike(value)
    if isinstance(value, (tuple, list)):
        return type(value)(_kept(v) for v in value)
    return value


def record(
    recorder: Recorder,
    answer: Callable[[dict[str, Any]], Any],
    specs: Sequence[dict[str, Any]],
    gpu: dict[str, Any],
) -> list[Launch]:
    """The launches of one `answer` of a submission, as on `gpu`, on arguments of these specs: name,
    dtype, shape, stride."""
    recorder.launches = []
    recorder.gpu = gpu
    try:
        with pretending(gpu), imagining():
            answer(arguments(specs))
    except TooManyLaunches:
        raise
    except Exception as error:  # noqa: BLE001 - whatever looking at a value that is not there raises
        recorder.remark(
            "backward looks at floating values, or at what only a GPU could answer "
            f"({type(error).__name__}); what it launches is shown for zeros on a CPU"
        )
        recorder.launches = []
        answer(arguments(specs))
    return recorder.launches


def first_line(kernel: JITFunction[Any]) -> int:
    """The line of the file on which the kernel's source begins."""
    return int(inspect.getsourcelines(kernel.fn)[1])
