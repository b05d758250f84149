"""The filter is run on system calls by an interpreter of its instructions, for both processors."""

from __future__ import annotations

import pytest

from sandbox.bpf import ARCHITECTURES, X32_BIT
from sandbox.seccomp import ABSENT, DENIED, LAST_KNOWN, program
from tests.sandbox.filter_machine import ALLOW, KILL, MISSING, REFUSE, answer_of

MACHINES = sorted(ARCHITECTURES)
READ = {"x86_64": 0, "aarch64": 63}
CLONE = {"x86_64": 56, "aarch64": 220}
MMAP = {"x86_64": 9, "aarch64": 222}
IOCTL = {"x86_64": 16, "aarch64": 29}
SOCKETPAIR = {"x86_64": 53, "aarch64": 199}


def answer(machine: str, number: int, *arguments: int, architecture: int | None = None) -> int:
    return answer_of(program(machine), machine, number, *arguments, architecture=architecture)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", sorted(DENIED))
def test_a_denied_call_is_refused(machine: str, name: str):
    number = DENIED[name][0 if machine == "x86_64" else 1]
    if number is None:
        assert machine == "aarch64"  # an older interface of the PC that aarch64 never had
    else:
        assert answer(machine, number) == REFUSE


@pytest.mark.parametrize("machine", MACHINES)
def test_ordinary_calls_are_allowed(machine: str):
    assert answer(machine, READ[machine]) == ALLOW


@pytest.mark.parametrize("machine", MACHINES)
def test_calls_unknown_to_the_list_do_not_exist(machine: str):
    assert answer(machine, LAST_KNOWN + 1) == MISSING
    assert answer(machine, ABSENT["clone3"][0]) == MISSING


@pytest.mark.parametrize("machine", MACHINES)
def test_a_foreign_architecture_is_killed(machine: str):
    i386 = 0x4000_0003
    assert answer(machine, READ[machine], architecture=i386) == KILL


def test_x32_is_killed():
    assert answer("x86_64", X32_BIT) == KILL
    assert answer("x86_64", X32_BIT | 520) == KILL


@pytest.mark.parametrize("machine", MACHINES)
def test_threads_and_processes_may_be_made_but_not_in_new_namespaces(machine: str):
    thread = 0x3D_0F00  # what pthread_create asks for
    assert answer(machine, CLONE[machine], thread) == ALLOW
    assert answer(machine, CLONE[machine], 17) == ALLOW
    for bit in (0x80, 0x2_0000, 0x200_0000, 0x400_0000, 0x800_0000, 0x1000_0000, 0x2000_0000):
        assert answer(machine, CLONE[machine], 17 | bit) == REFUSE


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("flags", "expected"),
    [(0x22, ALLOW), (0x01, ALLOW), (0x4022, ALLOW), (0x21, REFUSE), (0x4021, REFUSE)],
    ids=["private", "shared file", "private, huge", "shared anonymous", "the same, huge"],
)
def test_anonymous_pages_cannot_be_shared(machine: str, flags: int, expected: int):
    assert answer(machine, MMAP[machine], 0, 4096, 3, flags) == expected


@pytest.mark.parametrize("machine", MACHINES)
def test_a_terminal_cannot_be_typed_into(machine: str):
    assert answer(machine, IOCTL[machine], 0, 0x5401) == ALLOW
    assert answer(machine, IOCTL[machine], 0, 0x5412) == REFUSE
    assert answer(machine, IOCTL[machine], 0, 0x541C) == REFUSE


@pytest.mark.parametrize("machine", MACHINES)
def test_only_a_pair_without_address_may_be_made(machine: str):
    assert answer(machine, SOCKETPAIR[machine], 1) == ALLOW
    assert answer(machine, SOCKETPAIR[machine], 2) == REFUSE
