"""Strategy: the kernel's surface that no ordinary program touches.
Stopped by: the system call filter, which answers EPERM, or ENOSYS for what it does not know.
"""

import platform

from attempts import attempt, syscall

COLUMN = 0 if platform.machine() == "x86_64" else 1
CALLS = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "fsopen": (430, 430),
    "open_tree": (428, 428),
    "mount_setattr": (442, 442),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "kexec_load": (246, 104),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "open_by_handle_at": (304, 265),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "adjtimex": (159, 171),
    "personality": (135, 92),
    "syslog": (103, 116),
    "acct": (163, 89),
    "swapon": (167, 224),
    "quotactl": (179, 60),
    "reboot": (169, 142),
    "sethostname": (170, 161),
    "kcmp": (312, 272),
    "mbind": (237, 235),
    "move_pages": (279, 239),
    "clone3": (435, 435),
    "a call not invented yet": (600, 600),
}
for name, numbers in CALLS.items():
    attempt(name, syscall(numbers[COLUMN], 0, 0, 0, 0, 0))
for name, flag in {
    "user": 0x10000000,
    "mount": 0x20000,
    "process": 0x20000000,
    "network": 0x40000000,
    "cgroup": 0x02000000,
}.items():
    attempt(f"unshare {name}", syscall((272, 97)[COLUMN], flag))
    attempt(f"clone {name}", syscall((56, 220)[COLUMN], flag | 17, 0, 0, 0, 0))
