"""Runs a system call filter on a call, by interpreting its instructions."""

from __future__ import annotations

import errno
import struct

from sandbox.bpf import ARCHITECTURES

ALLOW, KILL = 0x7FFF_0000, 0x8000_0000
REFUSE, MISSING = 0x0005_0000 | errno.EPERM, 0x0005_0000 | errno.ENOSYS


def answer_of(
    code: bytes, machine: str, number: int, *arguments: int, architecture: int | None = None
) -> int:
    """What the filter `code` returns for a call (struct seccomp_data of linux/seccomp.h)."""
    padded = (*arguments, 0, 0, 0, 0, 0, 0)[:6]
    data = struct.pack("=IIQ6Q", number, architecture or ARCHITECTURES[machine], 0, *padded)
    accumulator, position = 0, 0
    while True:
        operation, if_true, if_false, value = struct.unpack_from("=HBBI", code, 8 * position)
        position += 1
        match operation:
            case 0x20:
                (accumulator,) = struct.unpack_from("=I", data, value)
            case 0x54:
                accumulator &= value
            case 0x06:
                return int(value)
            case 0x15 | 0x25 | 0x35 | 0x45:
                holds = {
                    0x15: accumulator == value,
                    0x25: accumulator > value,
                    0x35: accumulator >= value,
                    0x45: bool(accumulator & value),
                }[operation]
                position += if_true if holds else if_false
            case _:
                raise AssertionError(f"unexpected instruction {operation:#x}")
