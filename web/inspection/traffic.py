"""What a trace says of memory, as shares that a page shows."""

from __future__ import annotations

from dataclasses import dataclass

from wire.inspection import TensorTraffic, Trace

SECTOR_BYTES = 32  # what global memory moves at least


@dataclass(frozen=True)
class Traffic:
    """Of one launch or one of its tensors: bytes asked for, the least that would do, and what arrives
    in sectors for them."""

    name: str
    moved: int
    least: int
    sectors: int
    atomics: int = 0

    @property
    def repeated(self) -> float | None:
        """How many times the least is moved."""
        return self.moved / self.least if self.least else None

    @property
    def used(self) -> float | None:
        """The share of what the sectors hold that was asked for: 1 if accesses are coalesced."""
        held = self.sectors * SECTOR_BYTES
        return min(self.moved / held, 1.0) if held else None


@dataclass(frozen=True)
class Launch:
    """The traced launches of one kernel: their sum and its tensors; FLOPs by kind. `programs` of one of
    `launches`; none are those of an operation of PyTorch's."""

    total: Traffic
    launches: int
    programs: int
    flops: dict[str, int]
    tensors: tuple[Traffic, ...]


def launch(trace: Trace) -> Launch:
    return Launch(
        total=Traffic(trace.kernel, trace.bytes, trace.minimum_bytes, trace.sectors),
        launches=trace.launches,
        programs=trace.programs,
        flops=trace.flops,
        tensors=tuple(map(_of_tensor, trace.tensors)),
    )


def _of_tensor(tensor: TensorTraffic) -> Traffic:
    moved = tensor.loaded + tensor.stored
    return Traffic(tensor.tensor, moved, tensor.minimum, tensor.sectors, tensor.atomics)
