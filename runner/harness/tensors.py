"""Tensors to and from the memory shared with the judge."""

from __future__ import annotations

import json
import mmap
import os
from collections.abc import Sequence
from typing import Any

import torch

Spec = dict[str, Any]

DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        torch.bfloat16,
        torch.float16,
        torch.float32,
        torch.float64,
        torch.int32,
        torch.int64,
    )
}


class InvalidOutput(Exception):
    """`backward` returned something that is not the gradients asked for."""


def open_arena(name: str) -> torch.Tensor:
    """The shared memory called `name` as a flat uint8 tensor."""
    descriptor = os.open(os.environ[f"ARENA_{name.upper()}"], os.O_RDWR)
    size = os.fstat(descriptor).st_size
    memory = mmap.mmap(descriptor, size)
    os.close(descriptor)
    return torch.frombuffer(memory, dtype=torch.uint8)


class Arguments:
    """The arguments of one call, where the judge writes them: their values come with the call.

    `names` are all that `backward` takes; what has no layout, a buffer where nothing is to be added, is
    None.
    """

    def __init__(self, arena: torch.Tensor, layouts: Sequence[Spec], names: Sequence[str]) -> None:
        self._arena = arena
        self._layouts = layouts
        self._names = names
        self._tensors = {
            spec["name"]: arena[spec["offset"] : spec["offset"] + spec["bytes"]]
            .view(DTYPES[spec["dtype"]])
            .as_strided(spec["shape"], spec["stride"], _elements_before(spec))
            for spec in layouts
        }

    @property
    def tensors(self) -> list[torch.Tensor | None]:
        return [self._tensors.get(name) for name in self._names]

    def copies(self) -> list[torch.Tensor | None]:
        """The same tensors, each in a storage of its own: who runs out of one is not in the next."""
        found = {}
        for spec in self._layouts:
            raw = self._arena[spec["offset"] : spec["offset"] + spec["bytes"]].clone()
            flat = raw.view(DTYPES[spec["dtype"]])
            place = (spec["shape"], spec["stride"], spec["storage_offset"])
            found[spec["name"]] = flat.as_strided(*place)
        return [found.get(name) for name in self._names]

    def is_at(self, tensor: torch.Tensor, name: str) -> bool:
        """Whether `tensor` is the argument `name` itself, and not memory of its own."""
        return tensor.data_ptr() == self._tensors[name].data_ptr() and tensor.is_contiguous()

    def shares_memory_with(self, tensor: torch.Tensor) -> bool:
        address = tensor.untyped_storage().data_ptr()
        return tensor.numel() > 0 and address == self._arena.untyped_storage().data_ptr()


def _elements_before(spec: Spec) -> int:
    """Elements of the shared memory before the first of an argument."""
    before: int = spec["offset"] // DTYPES[spec["dtype"]].itemsize + spec["storage_offset"]
    return before


def check_outputs(
    returned: Any, wanted: Sequence[Spec], arguments: Arguments
) -> list[torch.Tensor]:
    """The gradients in `returned`, one for each of `wanted`.

    Raises:
        InvalidOutput: saying which gradient is not what the problem asks for, and how.
    """
    outputs = list(returned) if isinstance(returned, (tuple, list)) else [returned]
    names = ", ".join(w["name"] for w in wanted)
    if len(outputs) != len(wanted):
        raise InvalidOutput(
            f"backward returned {len(outputs)} value(s); this problem asks for {len(wanted)}: {names}"
        )
    storages = set()
    for output, want in zip(outputs, wanted, strict=True):
        _check_output(output, want, arguments)
        if output.numel():
            storages.add(output.untyped_storage().data_ptr())
    if len(storages) < sum(1 for o in outputs if o.numel()):
        raise InvalidOutput(f"two of {names} share one memory; each gradient needs its own")
    return outputs


def check_new(
    outputs: Sequence[torch.Tensor], earlier: Sequence[torch.Tensor], wanted: Sequence[Spec]
) -> None:
    """Raises InvalidOutput when one of `outputs` lies in the memory of a call's before, still held."""
    used = {e.untyped_storage().data_ptr() for e in earlier if e.numel()}
    for output, want in zip(outputs, wanted, strict=True):
        if want["buffer"]:
            continue
        if output.numel() and output.untyped_storage().data_ptr() in used:
            raise InvalidOutput(
                f"{want['name']} lies in memory that an earlier call returned and its caller may still "
                "use; allocate anew in every call"
            )


def _check_output(output: Any, want: Spec, arguments: Arguments) -> None:
    name = want["name"]
    if type(output) is not torch.Tensor:
        raise InvalidOutput(f"{name} is a {type(output).__name__}, not a torch.Tensor")
    dtype = str(output.dtype).removeprefix("torch.")
    if dtype != want["dtype"]:
        raise InvalidOutput(f"{name} is {dtype}; the problem asks for {want['dtype']}")
    if list(output.shape) != want["shape"]:
        raise InvalidOutput(
            f"{name} has shape {tuple(output.shape)}; the problem asks for {tuple(want['shape'])}"
        )
    if output.layout is not torch.strided or output.device.type != "cpu":
        raise InvalidOutput(f"{name} is not a dense tensor on the device the arguments are on")
    if any(s == 0 and n > 1 for s, n in zip(output.stride(), output.shape, strict=True)):
        raise InvalidOutput(
            f"{name} is an expanded view (stride 0); return a tensor of its own memory"
        )
    if want["buffer"]:
        _check_buffer(output, want, arguments)
    elif arguments.shares_memory_with(output):
        raise InvalidOutput(
            f"{name} lies in the memory of an argument; return newly allocated memory"
        )


def _check_buffer(output: torch.Tensor, want: Spec, arguments: Arguments) -> None:
    name, buffer = want["name"], want["buffer"]
    if not arguments.is_at(output, buffer):
        raise InvalidOutput(
            f"{name} is not {buffer}: where that is not None it holds an earlier gradient; add to it in "
            "place and return that very tensor"
        )


def store(outputs: Sequence[torch.Tensor], wanted: Sequence[Spec], arena: torch.Tensor) -> None:
    """Copy each gradient to its place in the arena, row-major, but those that lie in their buffers."""
    for output, want in zip(outputs, wanted, strict=True):
        if want["buffer"]:
            continue
        place = arena[want["offset"] : want["offset"] + want["bytes"]]
        place.view(output.dtype).view(output.shape).copy_(output)


def hand_over(answer: dict[str, Any], arena: torch.Tensor) -> dict[str, int]:
    """Write an answer too long for a message to the shared memory as JSON; the message that says so."""
    body = json.dumps(answer).encode()
    if len(body) > len(arena):
        return {"too_long": len(body)}
    arena.numpy()[: len(body)] = memoryview(body)
    return {"bytes": len(body)}
