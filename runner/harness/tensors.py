"""Tensors to and from the memory shared with the judge."""

from __future__ import annotations

import json
import mmap
import os
from collections.abc import Mapping, Sequence
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
# The judge computes with the same two numbers where each tensor lies, and how many there may be.
ALIGNMENT = 64
MOST_SAVED = 16


class InvalidOutput(Exception):
    """What was returned is not what the problem asks for."""


def open_arena(name: str) -> torch.Tensor:
    """The shared memory called `name` as a flat uint8 tensor."""
    descriptor = os.open(os.environ[f"ARENA_{name.upper()}"], os.O_RDWR)
    size = os.fstat(descriptor).st_size
    memory = mmap.mmap(descriptor, size)
    os.close(descriptor)
    return torch.frombuffer(memory, dtype=torch.uint8)


class Arguments:
    """The arguments of one call by name, where the judge writes them: values come with the call."""

    def __init__(self, arena: torch.Tensor, layouts: Sequence[Spec]) -> None:
        self._arena = arena
        self._layouts = layouts
        self.tensors = {
            spec["name"]: arena[spec["offset"] : spec["offset"] + spec["bytes"]]
            .view(DTYPES[spec["dtype"]])
            .as_strided(spec["shape"], spec["stride"], _elements_before(spec))
            for spec in layouts
        }

    def copies(self) -> dict[str, torch.Tensor]:
        """The same tensors, each in a storage of its own: who runs out of one is not in the next."""
        found = {}
        for spec in self._layouts:
            raw = self._arena[spec["offset"] : spec["offset"] + spec["bytes"]].clone()
            flat = raw.view(DTYPES[spec["dtype"]])
            place = (spec["shape"], spec["stride"], spec["storage_offset"])
            found[spec["name"]] = flat.as_strided(*place)
        return found

    def is_at(self, tensor: torch.Tensor, name: str) -> bool:
        """Whether `tensor` is the argument `name` itself, and not memory of its own."""
        return tensor.data_ptr() == self.tensors[name].data_ptr() and tensor.is_contiguous()

    def shares_memory_with(self, tensor: torch.Tensor) -> bool:
        address = tensor.untyped_storage().data_ptr()
        return tensor.numel() > 0 and address == self._arena.untyped_storage().data_ptr()


def _elements_before(spec: Spec) -> int:
    """Elements of the shared memory before the first of an argument."""
    before: int = spec["offset"] // DTYPES[spec["dtype"]].itemsize + spec["storage_offset"]
    return before


def arranged(
    takes: Sequence[str | list[str] | None], tensors: Mapping[str, torch.Tensor]
) -> list[Any]:
    """The arguments of a call: each of `takes` names a tensor, or those of a tuple; None is itself."""
    return [
        tuple(tensors[name] for name in taken)
        if isinstance(taken, list)
        else tensors[taken]
        if taken
        else None
        for taken in takes
    ]


def parted(returned: Any, most: int) -> tuple[Any, list[torch.Tensor]]:
    """What `forward` returned, as the output and the tensors to save, of at most `most` bytes.

    Raises:
        InvalidOutput: it is not an output and a tuple of tensors that can be saved.
    """
    if not isinstance(returned, (tuple, list)) or len(returned) != 2:
        raise InvalidOutput(
            "forward must return its output and a tuple of the tensors that it saves: y, saved"
        )
    output, saved = returned
    if not isinstance(saved, (tuple, list)):
        raise InvalidOutput(
            f"what forward saves is a {type(saved).__name__}, not a tuple of tensors"
        )
    if len(saved) > MOST_SAVED:
        raise InvalidOutput(
            f"forward saves {len(saved)} tensors; at most {MOST_SAVED} are handed over"
        )
    for number, tensor in enumerate(saved):
        _check_saved(f"saved[{number}]", tensor)
    total = sum(t.numel() * t.dtype.itemsize for t in saved)
    if total > most:
        raise InvalidOutput(
            f"forward saves {total:,} bytes where at most {most:,} may be saved, each view counted by "
            "its elements"
        )
    return output, list(saved)


def _check_saved(name: str, tensor: Any) -> None:
    if type(tensor) is not torch.Tensor:
        raise InvalidOutput(f"{name} is a {type(tensor).__name__}, not a torch.Tensor")
    dtype = str(tensor.dtype).removeprefix("torch.")
    if dtype not in DTYPES:
        raise InvalidOutput(f"{name} is {dtype}; what is saved may be {', '.join(DTYPES)}")
    if tensor.layout is not torch.strided or tensor.device.type != "cpu":
        raise InvalidOutput(f"{name} is not a dense tensor on the device the arguments are on")


def check_outputs(
    returned: Any, function: str, wanted: Sequence[Spec], arguments: Arguments
) -> list[torch.Tensor]:
    """The results of `function` in `returned`, one for each of `wanted`.

    Raises:
        InvalidOutput: saying which one is not what the problem asks for, and how.
    """
    outputs = list(returned) if isinstance(returned, (tuple, list)) else [returned]
    names = ", ".join(w["name"] for w in wanted)
    if len(outputs) != len(wanted):
        raise InvalidOutput(
            f"{function} returned {len(outputs)} value(s); this problem asks for {len(wanted)}: {names}"
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


def store_saved(saved: Sequence[torch.Tensor], begin: int, arena: torch.Tensor) -> list[Spec]:
    """Copy what is saved into the arena from `begin` on, row-major; the dtype and shape of each."""
    told = []
    for tensor in saved:
        size = tensor.numel() * tensor.dtype.itemsize
        place = arena[begin : begin + size]
        place.view(tensor.dtype).view(tensor.shape).copy_(tensor)
        begin += -(-size // ALIGNMENT) * ALIGNMENT
        told.append(
            {"dtype": str(tensor.dtype).removeprefix("torch."), "shape": list(tensor.shape)}
        )
    return told
