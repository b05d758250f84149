"""How many warps of a kernel fit on a multiprocessor at once, and what keeps more from fitting.

The arithmetic of NVIDIA's occupancy calculator: registers are given to warps in units of 256, and to as
many warps as each of four partitions holds alike, shared memory to blocks in units of 128 bytes, and
each block costs 1 KiB of it besides. Source: CUDA C++ Programming Guide, "Hardware Multithreading" and
"Compute Capabilities".
"""

from __future__ import annotations

from dataclasses import dataclass

from wire.gpus import Gpu

_REGISTER_UNIT = 256
_WARP_UNIT = 4
_SHARED_UNIT = 128
_SHARED_OF_SYSTEM = 1024
_MOST_REGISTERS = 255


@dataclass(frozen=True)
class Occupancy:
    """`share` of the warps that the multiprocessor could hold; `limited_by`: "registers", "shared
    memory", "warps" or "blocks"."""

    share: float
    blocks: int
    limited_by: str


def occupancy(gpu: Gpu, *, num_warps: int, registers: int, shared_memory: int) -> Occupancy:
    """For blocks of `num_warps` warps, `registers` a thread, `shared_memory` bytes a block.

    Raises:
        ValueError: no block of it can run on this GPU.
    """
    limits = {
        "warps": gpu.warps // num_warps,
        "blocks": gpu.blocks,
        "registers": _by_registers(gpu, num_warps, registers),
        "shared memory": _by_shared_memory(gpu, shared_memory),
    }
    blocks = min(limits.values())
    if blocks == 0:
        too_much = next(name for name, limit in limits.items() if limit == 0)
        raise ValueError(f"one block needs more {too_much} than {gpu.name} has")
    limiting = next(name for name, limit in limits.items() if limit == blocks)
    return Occupancy(share=blocks * num_warps / gpu.warps, blocks=blocks, limited_by=limiting)


def _by_registers(gpu: Gpu, num_warps: int, registers: int) -> int:
    if registers > _MOST_REGISTERS:
        return 0
    of_warp = -(-max(registers, 1) * 32 // _REGISTER_UNIT) * _REGISTER_UNIT
    warps = gpu.registers // of_warp // _WARP_UNIT * _WARP_UNIT
    return warps // num_warps


def _by_shared_memory(gpu: Gpu, shared_memory: int) -> int:
    if shared_memory > gpu.shared_memory_of_block:
        return 0
    needed = -(-(shared_memory + _SHARED_OF_SYSTEM) // _SHARED_UNIT) * _SHARED_UNIT
    return gpu.shared_memory // needed
