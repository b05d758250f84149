"""Landlock's three system calls (landlock(7), linux/landlock.h): what a process takes from itself.

A ruleset names rights that it handles and where they remain. Each version of the kernel's interface
(ABI) handles more of them; older ones leave them to everybody. Standard library only.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from collections.abc import Iterable
from enum import IntFlag

from sandbox import linux

# The same on every architecture.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG = 1
_PATH_BENEATH = 1


class Files(IntFlag):
    """LANDLOCK_ACCESS_FS_*."""

    EXECUTE = 1 << 0
    WRITE_FILE = 1 << 1
    READ_FILE = 1 << 2
    READ_DIR = 1 << 3
    REMOVE_DIR = 1 << 4
    REMOVE_FILE = 1 << 5
    MAKE_CHAR = 1 << 6
    MAKE_DIR = 1 << 7
    MAKE_REG = 1 << 8
    MAKE_SOCK = 1 << 9
    MAKE_FIFO = 1 << 10
    MAKE_BLOCK = 1 << 11
    MAKE_SYM = 1 << 12
    REFER = 1 << 13
    TRUNCATE = 1 << 14
    IOCTL_DEV = 1 << 15


class Network(IntFlag):
    """LANDLOCK_ACCESS_NET_*."""

    BIND_TCP = 1 << 0
    CONNECT_TCP = 1 << 1


class Scope(IntFlag):
    """LANDLOCK_SCOPE_*: what reaches only processes of the same domain or one below it."""

    ABSTRACT_UNIX_SOCKET = 1 << 0
    SIGNAL = 1 << 1


READ = Files.EXECUTE | Files.READ_FILE | Files.READ_DIR
WRITE = (
    READ
    | Files.WRITE_FILE
    | Files.REMOVE_DIR
    | Files.REMOVE_FILE
    | Files.MAKE_DIR
    | Files.MAKE_REG
    | Files.MAKE_FIFO
    | Files.MAKE_SYM
    | Files.REFER
    | Files.TRUNCATE
)
_OF_A_FILE = Files.EXECUTE | Files.WRITE_FILE | Files.READ_FILE | Files.TRUNCATE | Files.IOCTL_DEV
# The ABI with which a right came.
_SINCE = {Files.REFER: 2, Files.TRUNCATE: 3, Files.IOCTL_DEV: 5}
NETWORK_SINCE = 4
SCOPES_SINCE = 6


class _RulesetAttributes(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("files", "network", "scopes")]


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"  # what packing means; Python 3.13 and later want it said
    _fields_ = [("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32)]


_libc = ctypes.CDLL(None, use_errno=True)


def _call(number: int, *arguments: object) -> int:
    result = int(_libc.syscall(ctypes.c_long(number), *arguments))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"Landlock: {os.strerror(code)}")
    return result


def abi() -> int:
    """The version of Landlock's interface here, 0 if the kernel has none or it is switched off."""
    try:
        return _call(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION_FLAG))
    except OSError:
        return 0


def why_not() -> str | None:
    """None if there is Landlock here, else what the kernel answered and what that means."""
    try:
        _call(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION_FLAG))
    except OSError as error:
        match error.errno:
            case errno.ENOSYS:
                return "this kernel has no Landlock (Linux 5.13 or later, CONFIG_SECURITY_LANDLOCK)"
            case errno.EOPNOTSUPP:
                return (
                    "Landlock is switched off: start the kernel with landlock in its parameter lsm="
                )
            case _:
                return f"Landlock cannot be used here ({error.strerror})"
    return None


def files_of(version: int) -> Files:
    """All rights to files that an ABI handles."""
    rights = Files(0)
    for right in Files:
        if _SINCE.get(right, 1) <= version:
            rights |= right
    return rights


class Ruleset:
    """Rules that a process puts on itself, for good. Close it afterwards."""

    def __init__(self, files: Files, network: Network, scopes: Scope) -> None:
        """Handle these rights: none of them remains but by a rule. Raises OSError."""
        attributes = _RulesetAttributes(files, network, scopes)
        # Kernels refuse a structure longer than theirs unless the rest is zero.
        self._files = files
        self._descriptor = _call(
            _CREATE_RULESET,
            ctypes.byref(attributes),
            ctypes.c_size_t(ctypes.sizeof(attributes)),
            ctypes.c_uint32(0),
        )

    def allow(self, path: str, rights: Files) -> None:
        """Let `rights` remain on `path` and below. What does not exist needs no rule. Raises OSError."""
        try:
            parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except (FileNotFoundError, PermissionError):
            return
        try:
            wanted = rights & self._files
            if not stat.S_ISDIR(os.fstat(parent).st_mode):
                wanted &= _OF_A_FILE
            rule = _PathBeneath(wanted, parent)
            _call(
                _ADD_RULE,
                ctypes.c_int(self._descriptor),
                ctypes.c_int(_PATH_BENEATH),
                ctypes.byref(rule),
                ctypes.c_uint32(0),
            )
        finally:
            os.close(parent)

    def restrict(self) -> None:
        """Put the rules on the calling thread and all it starts. Needs no_new_privs. Raises OSError."""
        _call(_RESTRICT_SELF, ctypes.c_int(self._descriptor), ctypes.c_uint32(0))

    def close(self) -> None:
        os.close(self._descriptor)


def confine(version: int, allowed: Iterable[tuple[str, Files]]) -> None:
    """Take everything from the calling process that an ABI up to `version` handles, but `allowed`.

    Raises:
        OSError: the kernel refuses.
    """
    scoped = Scope.ABSTRACT_UNIX_SOCKET | Scope.SIGNAL if version >= SCOPES_SINCE else Scope(0)
    network = Network.BIND_TCP | Network.CONNECT_TCP if version >= NETWORK_SINCE else Network(0)
    ruleset = Ruleset(files_of(version), network, scoped)
    try:
        for path, rights in allowed:
            ruleset.allow(path, rights)
        linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
        ruleset.restrict()
    finally:
        ruleset.close()


def confine_signals(outsider: int) -> None:
    """Let the calling process and all it starts signal nobody but each other. `outsider` is a process
    that must then be out of reach: whoever later signals everybody relies on it.

    Raises:
        OSError: the kernel refuses, or the outsider can still be signalled.
    """
    # Of all rights this one alone is lost to whoever has any rules, unless one gives it back.
    ruleset = Ruleset(Files.REFER, Network(0), Scope.SIGNAL)
    try:
        ruleset.allow("/", Files.REFER)
        linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
        ruleset.restrict()
    finally:
        ruleset.close()
    try:
        os.kill(outsider, 0)
    except PermissionError:
        return
    raise OSError(errno.EPERM, "Landlock: signals are not confined")
