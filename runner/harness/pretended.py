"""A GPU that is not there, as far as a launch asks about it.

Wrappers ask how many multiprocessors there are to size their grids, or which capability, to choose a
path. Inside `pretending`, PyTorch and Triton answer for a given GPU.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any
from unittest import mock

import torch
from triton.backends.compiler import GPUTarget
from triton.runtime import driver


class _Driver:
    """What wrappers ask Triton's driver."""

    def __init__(self, gpu: dict[str, Any]) -> None:
        self._gpu = gpu
        self.utils = self

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", self._gpu["capability"], 32)

    def get_current_device(self) -> int:
        return 0

    def get_active_torch_device(self) -> torch.device:
        return torch.device("cuda", 0)

    def get_device_properties(self, _: Any) -> dict[str, int]:
        return {
            "multiprocessor_count": self._gpu["multiprocessors"],
            "max_shared_mem": self._gpu["shared_memory_of_block"],
            "max_num_regs": self._gpu["registers"],
            "warpSize": 32,
        }


def _whatever_the_device(answer: Any) -> Callable[..., Any]:
    def function(device: Any = None) -> Any:  # noqa: ARG001 - PyTorch's name for it
        return answer

    return function


@contextlib.contextmanager
def pretending(gpu: dict[str, Any]) -> Iterator[None]:
    """For the time of the block this machine says it has `gpu` (fields as in the judge's table)."""
    major, minor = divmod(gpu["capability"], 10)
    properties = SimpleNamespace(
        name=gpu["name"],
        major=major,
        minor=minor,
        multi_processor_count=gpu["multiprocessors"],
        shared_memory_per_block_optin=gpu["shared_memory_of_block"],
        regs_per_multiprocessor=gpu["registers"],
        max_threads_per_multi_processor=gpu["warps"] * 32,
        L2_cache_size=gpu["l2_bytes"],
        warp_size=32,
    )
    answers = {
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "get_device_name": _whatever_the_device(gpu["name"]),
        "get_device_capability": _whatever_the_device((major, minor)),
        "get_device_properties": _whatever_the_device(properties),
    }
    with contextlib.ExitStack() as stack:
        for name, answer in answers.items():
            stack.enter_context(mock.patch.object(torch.cuda, name, answer))
        before = driver._active
        driver.set_active(_Driver(gpu))
        stack.callback(lambda: setattr(driver, "_active", before))
        yield
