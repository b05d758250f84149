"""The system call filter, as the bytes of a BPF program.

A deny list: what a numerical program needs is too broad and too dependent on library versions for an
allow list to be kept honest, and namespaces carry the isolation. What is denied is the kernel's surface
which ordinary programs never touch, everything that reaches other processes or kernel-wide state, and
every way to hold memory that is not visible in the resident size of a process. Calls newer than the
list are unknown to it, so they do not exist for the job.
"""

from __future__ import annotations

import errno
import platform

from sandbox import bpf
from sandbox.bpf import Instruction

LAST_KNOWN = 450  # set_mempolicy_home_node, Linux 5.17: the same number on both

# Name to number on x86_64 and aarch64; None where the architecture lacks the call.
DENIED: dict[str, tuple[int | None, int | None]] = {
    # other processes
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    # kernel interfaces with a history
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "vmsplice": (278, 75),
    "modify_ldt": (154, None),
    "iopl": (172, None),
    "ioperm": (173, None),
    "uselib": (134, None),
    "ustat": (136, None),
    "sysfs": (139, None),
    "_sysctl": (156, None),
    "personality": (135, 92),
    "lookup_dcookie": (212, 18),
    "nfsservctl": (180, 42),
    # namespaces and mounts
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "open_by_handle_at": (304, 265),
    "name_to_handle_at": (303, 264),
    "fanotify_init": (300, 262),
    "fanotify_mark": (301, 263),
    "mknod": (133, None),
    "mknodat": (259, 33),
    # the machine
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "create_module": (174, None),
    "get_kernel_syms": (177, None),
    "query_module": (178, None),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "syslog": (103, 116),
    "acct": (163, 89),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "vhangup": (153, 58),
    # where memory lies
    "mbind": (237, 235),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    "set_mempolicy": (238, 237),
    "set_mempolicy_home_node": (450, 450),
    # memory that no process's resident size shows
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "msgget": (68, 186),
    "semget": (64, 190),
    "mq_open": (240, 180),
    # sockets of every family
    "socket": (41, 198),
}

# glibc tries clone3 first and falls back to clone, whose flags a filter can see, only on ENOSYS.
ABSENT = {"clone3": (435, 435)}

# Allowed unless an argument says otherwise.
CLONE, IOCTL, MMAP, SOCKETPAIR = (56, 220), (16, 29), (9, 222), (53, 199)
# NEWTIME, NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET of linux/sched.h
NEW_NAMESPACES = 0x80 | 0x2_0000 | 0x0200_0000 | 0x7C00_0000
MAP_SHARED, MAP_TYPE, MAP_ANONYMOUS = 0x01, 0x0F, 0x20
TIOCSTI, TIOCLINUX = 0x5412, 0x541C  # type into the terminal of whoever started us
AF_UNIX = 1


def _conditional(index: int) -> list[Instruction]:
    allow, refuse = bpf.ALLOW, bpf.refuse(errno.EPERM)
    no_namespaces = [bpf.argument(0), bpf.if_any_bit(NEW_NAMESPACES, 0, 1), refuse, allow]
    no_terminal = [
        bpf.argument(1),
        bpf.if_equal(TIOCSTI, 1, 0),
        bpf.if_equal(TIOCLINUX, 0, 1),
        refuse,
        allow,
    ]
    # Pages of an anonymous shared mapping outlive its unmapping as long as any byte stays mapped,
    # and would then be counted nowhere.
    no_hidden_memory = [
        bpf.argument(3),
        bpf.only_bits(MAP_TYPE | MAP_ANONYMOUS),
        bpf.if_equal(MAP_SHARED | MAP_ANONYMOUS, 0, 1),
        refuse,
        allow,
    ]
    # A pair has no address, so it reaches nobody: asyncio and multiprocessing need it.
    only_unix = [bpf.argument(0), bpf.if_equal(AF_UNIX, 1, 0), refuse, allow]
    return [
        *bpf.when(CLONE[index], no_namespaces),
        *bpf.when(IOCTL[index], no_terminal),
        *bpf.when(MMAP[index], no_hidden_memory),
        *bpf.when(SOCKETPAIR[index], only_unix),
    ]


def program(machine: str | None = None) -> bytes:
    """The filter for `machine` (as platform.machine() names it; this one if None), as an array of
    struct sock_filter.

    Raises:
        KeyError: no table of call numbers for this architecture.
    """
    machine = machine or platform.machine()
    index = bpf.column(machine)
    code = bpf.beginning(machine)
    code += [bpf.if_above(LAST_KNOWN, 0, 1), bpf.refuse(errno.ENOSYS)]
    for table, error in ((DENIED, errno.EPERM), (ABSENT, errno.ENOSYS)):
        code += bpf.refusing((numbers[index] for numbers in table.values()), error)
    code += _conditional(index)
    return bpf.assembled([*code, bpf.ALLOW])
