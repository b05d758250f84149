"""The few Linux calls that Python 3.11 has no function for.

Standard library only: this module also runs inside the sandbox, under the job's own interpreter.
"""

from __future__ import annotations

import ctypes
import os
import platform
from pathlib import Path

CLONE_NEWNS = 0x0002_0000
CLONE_NEWCGROUP = 0x0200_0000
CLONE_NEWUTS = 0x0400_0000
CLONE_NEWIPC = 0x0800_0000
CLONE_NEWUSER = 0x1000_0000
CLONE_NEWPID = 0x2000_0000
CLONE_NEWNET = 0x4000_0000

MS_NOSUID = 0x2
MS_NODEV = 0x4
MS_NOEXEC = 0x8
MS_BIND = 0x1000
MS_REC = 0x4000
MS_PRIVATE = 0x4_0000
MNT_DETACH = 0x2

MOUNT_ATTR_RDONLY = 0x1
MOUNT_ATTR_NOSUID = 0x2
MOUNT_ATTR_NODEV = 0x4

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_CAPBSET_READ = 23
PR_CAPBSET_DROP = 24
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_CLEAR_ALL = 4
SECCOMP_MODE_FILTER = 2

_AT_FDCWD = -100
_AT_RECURSIVE = 0x8000
_SYS_MOUNT_SETATTR = 442  # the same on every architecture
_SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_CAPABILITY_VERSION_3 = 0x2008_0522

_libc = ctypes.CDLL(None, use_errno=True)


class _MountAttributes(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "userns")]


class _SeccompProgram(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def prctl(option: int, argument: int = 0, second: int = 0) -> int:
    """The result of prctl(2). Raises OSError."""
    arguments = [ctypes.c_ulong(value) for value in (argument, second, 0, 0)]
    return _checked(_libc.prctl(option, *arguments), f"prctl {option}")


def unshare(flags: int) -> None:
    """Move the calling process to new namespaces. Raises OSError."""
    _checked(_libc.unshare(flags), "making namespaces (unshare)")


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    """mount(2). Raises OSError naming the target."""
    result = _libc.mount(
        source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), options.encode()
    )
    _checked(result, f"mounting {target}")


def unmount(target: str) -> None:
    """Detach a mount and everything below it. Raises OSError."""
    _checked(_libc.umount2(target.encode(), MNT_DETACH), f"unmounting {target}")


def pivot_root(new: str, old: str) -> None:
    """Make `new` the root and put the old root at `old`. Raises OSError."""
    number = _SYS_PIVOT_ROOT[platform.machine()]
    _checked(_libc.syscall(number, new.encode(), old.encode()), "changing the root")


def restrict_mount(target: str, attributes: int, *, recursive: bool) -> None:
    """Set MOUNT_ATTR_* on a mount, and on all below it when `recursive`. Raises OSError (kernels
    before 5.12 do not have the call)."""
    wanted = _MountAttributes(attributes, 0, 0, 0)
    flags = _AT_RECURSIVE if recursive else 0
    result = _libc.syscall(
        _SYS_MOUNT_SETATTR,
        ctypes.c_int(_AT_FDCWD),
        target.encode(),
        ctypes.c_uint(flags),
        ctypes.byref(wanted),
        ctypes.c_size_t(ctypes.sizeof(wanted)),
    )
    _checked(result, f"restricting the mount {target}")


def drop_bounding_capabilities() -> None:
    """Make it impossible to gain a capability through a file. Needs CAP_SETPCAP: without it the
    set stays as it is, which no_new_privs makes harmless."""
    last = int(Path("/proc/sys/kernel/cap_last_cap").read_text())
    for capability in range(last + 1):
        if _libc.prctl(PR_CAPBSET_READ, ctypes.c_ulong(capability), 0, 0, 0) == 1:
            _libc.prctl(PR_CAPBSET_DROP, ctypes.c_ulong(capability), 0, 0, 0)


def drop_capabilities() -> None:
    """Empty the effective, permitted, inheritable and ambient sets. Raises OSError."""
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    empty = (ctypes.c_uint32 * 6)()
    _checked(_libc.capset(header, empty), "dropping capabilities")


def install_seccomp(program: bytes) -> None:
    """Filter the calling process's system calls, for good. `program` is an array of sock_filter.
    Raises OSError."""
    argument = _SeccompProgram(len(program) // 8, program)
    result = _libc.prctl(
        PR_SET_SECCOMP, ctypes.c_ulong(SECCOMP_MODE_FILTER), ctypes.byref(argument), 0, 0
    )
    _checked(result, "installing the system call filter")
