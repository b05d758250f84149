"""The second filter, run on system calls by an interpreter of its instructions, for both processors."""

from __future__ import annotations

import errno
import os

import pytest

from sandbox import landlock_filter
from sandbox.bpf import ARCHITECTURES, X32_BIT, column
from sandbox.landlock_filter import (
    ABSENT,
    CONTROLS,
    DENIED,
    FCNTL,
    IOCTL,
    KILL,
    ON_ITSELF,
    OPENAT,
    PRCTL,
    SETPRIORITY,
    SOCKETPAIR,
    TGKILL,
)
from tests.sandbox import filter_machine
from tests.sandbox.filter_machine import ALLOW, MISSING, REFUSE, answer_of

MACHINES = sorted(ARCHITECTURES)
OWN = 4711
OTHER = 1


@pytest.fixture(autouse=True)
def nothing_is_left() -> None:
    """No sandbox is started here."""


def answer(machine: str, numbers: tuple[int | None, int | None], *arguments: int) -> int:
    number = numbers[column(machine)]
    assert number is not None
    return answer_of(landlock_filter.program(OWN, machine), machine, number, *arguments)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", sorted(DENIED))
def test_what_landlock_has_no_right_for_is_refused(machine: str, name: str):
    if DENIED[name][column(machine)] is None:
        assert machine == "aarch64"  # an older interface that aarch64 never had
    else:
        assert answer(machine, DENIED[name]) == REFUSE


@pytest.mark.parametrize("machine", MACHINES)
def test_ordinary_calls_are_allowed_and_openat2_does_not_exist(machine: str):
    read = {"x86_64": 0, "aarch64": 63}[machine]
    assert answer_of(landlock_filter.program(None, machine), machine, read) == ALLOW
    assert answer(machine, ABSENT["openat2"]) == MISSING


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", sorted(ON_ITSELF))
def test_limits_and_schedules_are_for_oneself(machine: str, name: str):
    assert answer(machine, ON_ITSELF[name], 0) == ALLOW
    assert answer(machine, ON_ITSELF[name], OTHER) == REFUSE


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("which", "who", "expected"), [(0, 0, ALLOW), (0, 9, REFUSE), (2, 0, REFUSE)]
)
def test_a_priority_is_changed_for_oneself_and_not_for_the_user(
    machine: str, which: int, who: int, expected: int
):
    assert answer(machine, SETPRIORITY, which, who, 19) == expected


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (os.O_RDONLY | os.O_CLOEXEC, ALLOW),
        (os.O_WRONLY | os.O_TRUNC | os.O_CREAT, ALLOW),
        (os.O_RDWR | os.O_TRUNC, ALLOW),
        (os.O_RDONLY | os.O_TRUNC, REFUSE),
        (0x3, REFUSE),
        (0x3 | os.O_TRUNC, REFUSE),
    ],
)
def test_files_are_opened_for_reading_or_writing_and_say_so(
    machine: str, flags: int, expected: int
):
    assert answer(machine, OPENAT, 0, 0, flags) == expected


@pytest.mark.parametrize("machine", MACHINES)
def test_devices_are_asked_for_nothing_but_what_streams_answer(machine: str):
    for control in CONTROLS:
        assert answer(machine, IOCTL, 0, control) == ALLOW
    for control in (0x4008_6602, 0x5412, 0xC020_660B):
        refused = filter_machine.REFUSE & ~0xFFFF | errno.ENOTTY
        assert answer(machine, IOCTL, 0, control) == refused


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("command", "expected"), [(1, ALLOW), (2, ALLOW), (8, REFUSE), (10, REFUSE)]
)
def test_no_descriptor_sends_signals_to_others(machine: str, command: int, expected: int):
    assert answer(machine, FCNTL, 0, command) == expected


@pytest.mark.parametrize("machine", MACHINES)
def test_a_process_stays_visible_to_the_watchdog(machine: str):
    assert answer(machine, PRCTL, 15) == ALLOW  # its name
    assert answer(machine, PRCTL, 4, 0) == REFUSE


@pytest.mark.parametrize("machine", MACHINES)
def test_only_streams_come_in_pairs(machine: str):
    for kind, expected in ((1, ALLOW), (1 | 0x8_0800, ALLOW), (2, REFUSE), (5, REFUSE)):
        assert answer(machine, SOCKETPAIR, 1, kind) == expected


@pytest.mark.parametrize("machine", MACHINES)
def test_where_landlock_cannot_a_process_signals_itself_and_its_group(machine: str):
    for target in (0, OWN, (1 << 32) - OWN):
        assert answer(machine, KILL, target, 9) == ALLOW
    for target in (OTHER, (1 << 32) - 1, (1 << 64) - 1):
        assert answer(machine, KILL, target, 9) == REFUSE
    assert answer(machine, TGKILL, OWN, OWN + 1, 6) == ALLOW
    assert answer(machine, TGKILL, OTHER, OTHER, 6) == REFUSE
    confined = landlock_filter.program(None, machine)
    number = KILL[column(machine)]
    assert answer_of(confined, machine, number, OTHER, 9) == ALLOW


def test_x32_is_killed():
    code = landlock_filter.program(None, "x86_64")
    assert answer_of(code, "x86_64", X32_BIT) == filter_machine.KILL
