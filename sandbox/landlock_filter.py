"""What a job below Landlock is refused besides what every job is, as a second system call filter.

There is no namespace: the job shares its user, the file system, processes and System V objects with
others. Landlock leaves alone what is done to a file without opening it for reading or writing (its mode,
owner, times, attributes), descriptors that ask for neither, limits and priorities of other processes,
signals before its ABI 6, truncation before its ABI 3, and device controls before its ABI 5. So they are
refused here, on every kernel alike. Standard library only.
"""

from __future__ import annotations

import errno
import platform

from sandbox import bpf
from sandbox.bpf import Instruction

# Name to number on x86_64 and aarch64; None where the architecture lacks the call.
DENIED: dict[str, tuple[int | None, int | None]] = {
    # files: what Landlock has no right for
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "chown": (92, None),
    "fchown": (93, 55),
    "lchown": (94, None),
    "fchownat": (260, 54),
    "utime": (132, None),
    "utimes": (235, None),
    "futimesat": (261, None),
    "utimensat": (280, 88),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "getxattr": (191, 8),
    "lgetxattr": (192, 9),
    "fgetxattr": (193, 10),
    "listxattr": (194, 11),
    "llistxattr": (195, 12),
    "flistxattr": (196, 13),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "truncate": (76, 45),
    "inotify_init": (253, None),
    "inotify_init1": (294, 26),
    "inotify_add_watch": (254, 27),
    # other processes
    "tkill": (200, 130),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "pidfd_send_signal": (424, 424),
    "ioprio_set": (251, 30),
    # objects of System V and POSIX that have no file
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "msgsnd": (69, 189),
    "msgrcv": (70, 188),
    "msgctl": (71, 187),
    "semop": (65, 193),
    "semctl": (66, 191),
    "semtimedop": (220, 192),
    "mq_unlink": (241, 181),
    # sockets: a pair needs none of these; a message can carry files that nobody then counts
    "connect": (42, 203),
    "bind": (49, 200),
    "listen": (50, 201),
    "sendmsg": (46, 211),
    "sendmmsg": (307, 269),
}

# Its flags lie in memory, where no filter can look.
ABSENT = {"openat2": (437, 437)}

# Allowed on the calling process alone, whose number they know as 0.
ON_ITSELF = {
    "prlimit64": (302, 261),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274),
}

# Allowed unless an argument says otherwise.
OPEN, OPENAT, FCNTL, IOCTL = (2, None), (257, 56), (72, 25), (16, 29)
PRCTL, SOCKETPAIR, SETPRIORITY = (157, 167), (53, 199), (141, 140)
KILL, TGKILL = (62, 129), (234, 131)

ACCESS_MODE, READ_ONLY, NEITHER, O_TRUNC = 0x3, 0x0, 0x3, 0x200
SETOWN, SETSIG, SETOWN_EX, SETLEASE, NOTIFY = 8, 10, 15, 1024, 1026
PR_SET_DUMPABLE = 4
SOCK_STREAM, SOCK_TYPE = 1, 0xF
# TCGETS (as the C library names it since 2.42, too), TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX
CONTROLS = (0x5401, 0x802C_542A, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)


def program(own_pid: int | None, machine: str | None = None) -> bytes:
    """The filter, as an array of struct sock_filter.

    `own_pid` is the first process of the job where signals must be confined by the filter: it may then
    signal itself and every process its own group, nothing else. None where Landlock confines them.

    Raises:
        KeyError: no table of call numbers for this architecture.
    """
    machine = machine or platform.machine()
    index = bpf.column(machine)
    code = bpf.beginning(machine)
    code += bpf.refusing((numbers[index] for numbers in DENIED.values()), errno.EPERM)
    code += bpf.refusing((numbers[index] for numbers in ABSENT.values()), errno.ENOSYS)
    for numbers in ON_ITSELF.values():
        code += bpf.when(numbers[index], _only(0, 0))
    code += _on_files(index)
    code += bpf.when(PRCTL[index], _never(0, PR_SET_DUMPABLE))
    stream = [bpf.argument(1), bpf.only_bits(SOCK_TYPE), bpf.if_equal(SOCK_STREAM, 1, 0)]
    code += bpf.when(SOCKETPAIR[index], [*stream, _REFUSE, bpf.ALLOW])
    code += bpf.when(SETPRIORITY[index], [*_both_zero(), _REFUSE])
    if own_pid is not None:
        group = (-own_pid) & 0xFFFF_FFFF
        code += bpf.when(KILL[index], _only(0, 0, own_pid, group))
        code += bpf.when(TGKILL[index], _only(0, own_pid))
    return bpf.assembled([*code, bpf.ALLOW])


_REFUSE = bpf.refuse(errno.EPERM)


def _only(position: int, *values: int) -> list[Instruction]:
    """Allow the call if its argument is one of `values`."""
    code = [bpf.argument(position)]
    for value in values:
        code += [bpf.if_equal(value, 0, 1), bpf.ALLOW]
    return [*code, _REFUSE]


def _never(position: int, *values: int) -> list[Instruction]:
    """Refuse the call if its argument is one of `values`."""
    code = [bpf.argument(position)]
    for value in values:
        code += [bpf.if_equal(value, 0, 1), _REFUSE]
    return [*code, bpf.ALLOW]


def _both_zero() -> list[Instruction]:
    """Allow the call if its first two arguments are zero, else go on behind."""
    return [
        bpf.argument(0),
        bpf.if_equal(0, 0, 3),
        bpf.argument(1),
        bpf.if_equal(0, 0, 1),
        bpf.ALLOW,
    ]


def _on_files(index: int) -> list[Instruction]:
    code: list[Instruction] = []
    for numbers, position in ((OPEN, 1), (OPENAT, 2)):
        number = numbers[index]
        if number is not None:
            code += bpf.when(number, _honest_opening(position))
    code += bpf.when(FCNTL[index], _never(1, SETOWN, SETSIG, SETOWN_EX, SETLEASE, NOTIFY))
    controls = _only(1, *CONTROLS)
    return [*code, *bpf.when(IOCTL[index], [*controls[:-1], bpf.refuse(errno.ENOTTY)])]


def _honest_opening(position: int) -> list[Instruction]:
    """Refuse to open for neither reading nor writing, which needs no right of Landlock's and still
    controls a device, and to empty a file by opening it for reading."""
    return [
        bpf.argument(position),
        bpf.only_bits(ACCESS_MODE),
        bpf.if_equal(NEITHER, 0, 1),
        _REFUSE,
        bpf.argument(position),
        bpf.only_bits(ACCESS_MODE | O_TRUNC),
        bpf.if_equal(READ_ONLY | O_TRUNC, 0, 1),
        _REFUSE,
        bpf.ALLOW,
    ]
