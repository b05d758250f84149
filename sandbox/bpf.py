"""The few instructions of which system call filters are made: seccomp(2), struct seccomp_data, and
linux/filter.h. A filter reads the call's number, then runs tests that each end in an answer.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass

# linux/audit.h
ARCHITECTURES = {"x86_64": 0xC000_003E, "aarch64": 0xC000_00B7}
X32_BIT = 0x4000_0000

_LOAD, _JEQ, _JGE, _JGT, _JSET, _AND, _RETURN = 0x20, 0x15, 0x35, 0x25, 0x45, 0x54, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
_ALLOW, _ERRNO, _KILL_PROCESS = 0x7FFF_0000, 0x0005_0000, 0x8000_0000


@dataclass(frozen=True)
class Instruction:
    """One struct sock_filter. The jumps count instructions to skip."""

    code: int
    value: int
    if_true: int = 0
    if_false: int = 0

    def packed(self) -> bytes:
        return struct.pack("=HBBI", self.code, self.if_true, self.if_false, self.value)


ALLOW = Instruction(_RETURN, _ALLOW)


def refuse(error: int) -> Instruction:
    """The answer that the call fails with `error`."""
    return Instruction(_RETURN, _ERRNO | error)


def argument(position: int) -> Instruction:
    """Load the low 32 bits of an argument of the call."""
    return Instruction(_LOAD, _ARGUMENTS + 8 * position)


def only_bits(mask: int) -> Instruction:
    """Keep those bits of what was loaded."""
    return Instruction(_AND, mask)


def if_equal(value: int, then: int, otherwise: int) -> Instruction:
    """Skip `then` instructions if what was loaded is `value`, else `otherwise`."""
    return Instruction(_JEQ, value, then, otherwise)


def if_above(value: int, then: int, otherwise: int) -> Instruction:
    """The same for greater than `value`."""
    return Instruction(_JGT, value, then, otherwise)


def if_any_bit(mask: int, then: int, otherwise: int) -> Instruction:
    """The same for any bit of `mask` being set."""
    return Instruction(_JSET, mask, then, otherwise)


def when(number: int, body: list[Instruction]) -> list[Instruction]:
    """Run `body`, which must return on every path, for the call `number`."""
    return [Instruction(_JEQ, number, 0, len(body)), *body]


def refusing(numbers: Iterable[int | None], error: int) -> list[Instruction]:
    """Let these calls fail with `error`; None is a call that the architecture lacks."""
    code: list[Instruction] = []
    for number in numbers:
        if number is not None:
            code += when(number, [refuse(error)])
    return code


def column(machine: str) -> int:
    """Where `machine` stands in a table of call numbers. Raises KeyError for one that has none."""
    return {"x86_64": 0, "aarch64": 1}[machine]


def beginning(machine: str) -> list[Instruction]:
    """Kill who calls by another of the processor's conventions, and load the call's number.

    Raises:
        KeyError: no table of call numbers for this architecture.
    """
    kill = Instruction(_RETURN, _KILL_PROCESS)
    code = [
        Instruction(_LOAD, _ARCHITECTURE),
        if_equal(ARCHITECTURES[machine], 1, 0),
        kill,
        Instruction(_LOAD, _NUMBER),
    ]
    if machine == "x86_64":
        code += [Instruction(_JGE, X32_BIT, 0, 1), kill]
    return code


def assembled(code: list[Instruction]) -> bytes:
    """The program as an array of struct sock_filter."""
    return b"".join(instruction.packed() for instruction in code)
