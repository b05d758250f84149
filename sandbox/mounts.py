"""Building a sandbox's root file system without bubblewrap.

Runs as process 1 of fresh user and process namespaces, and makes its own mount namespace: the launcher
keeps the host's, whose /proc shows it its children. The steps are those of sandbox.layout.
Standard library only.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from sandbox import linux

_BASE = "/tmp"  # noqa: S108 - a mount point that exists everywhere; hidden by our own file system
_INODES = 65536
_READ_ONLY = linux.MOUNT_ATTR_RDONLY | linux.MOUNT_ATTR_NOSUID | linux.MOUNT_ATTR_NODEV


def build_root(steps: Sequence[Sequence[str | int]]) -> None:
    """Replace the root by an empty, then read-only file system in which `steps` were done.

    Raises:
        OSError: the kernel refuses a step.
    """
    linux.unshare(linux.CLONE_NEWNS)
    linux.mount("none", "/", "", linux.MS_REC | linux.MS_PRIVATE)
    tmpfs = linux.MS_NOSUID | linux.MS_NODEV
    linux.mount("tmpfs", _BASE, "tmpfs", tmpfs, "mode=0755")
    Path(f"{_BASE}/old").mkdir()
    Path(f"{_BASE}/new").mkdir()
    linux.pivot_root(_BASE, f"{_BASE}/old")
    os.chdir("/")
    linux.mount("tmpfs", "/new", "tmpfs", tmpfs, f"mode=0755,nr_inodes={_INODES}")
    os.umask(0o022)
    for kind, what, target in steps:
        _STEPS[str(kind)](what, f"/new{target}")
    linux.restrict_mount("/new", _READ_ONLY, recursive=False)
    os.chdir("/new")
    linux.pivot_root(".", ".")  # stacks the old root on the new one
    linux.unmount(".")
    os.chdir("/")


def _bind(what: str | int, target: str) -> None:
    _bind_mount(f"/old{what}", target)
    linux.restrict_mount(target, _READ_ONLY, recursive=True)


def _device(what: str | int, target: str) -> None:
    _bind_mount(f"/old{what}", target)
    linux.restrict_mount(target, linux.MOUNT_ATTR_NOSUID, recursive=False)


def _bind_mount(source: str, target: str) -> None:
    if Path(source).is_dir():
        Path(target).mkdir(parents=True, exist_ok=True)
    else:
        Path(target).parent.mkdir(parents=True, exist_ok=True)
        Path(target).touch()
    linux.mount(source, target, "", linux.MS_BIND | linux.MS_REC)


def _link(what: str | int, target: str) -> None:
    Path(target).symlink_to(str(what))


def _folder(what: str | int, target: str) -> None:
    Path(target).mkdir(mode=int(what), parents=True, exist_ok=True)


def _data(what: str | int, target: str) -> None:
    Path(target).parent.mkdir(parents=True, exist_ok=True)
    # A duplicate shares its offset, so the same memory is always read from its start.
    os.lseek(int(what), 0, os.SEEK_SET)
    with os.fdopen(int(what), "rb") as source:
        Path(target).write_bytes(source.read())
    Path(target).chmod(0o444)


def _tmpfs(what: str | int, target: str) -> None:
    Path(target).mkdir(parents=True, exist_ok=True)
    options = f"mode=1777,size={what},nr_inodes={_INODES}"
    linux.mount("tmpfs", target, "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, options)


def _proc(what: str | int, target: str) -> None:
    Path(target).mkdir(parents=True, exist_ok=True)
    flags = linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC
    linux.mount(str(what), target, "proc", flags)
    for name in ("sys", "sysrq-trigger", "irq", "bus"):
        inner = f"{target}/{name}"
        if Path(inner).exists():
            linux.mount(inner, inner, "", linux.MS_BIND | linux.MS_REC)
            linux.restrict_mount(inner, linux.MOUNT_ATTR_RDONLY, recursive=True)


_STEPS = {
    "bind": _bind,
    "device": _device,
    "link": _link,
    "folder": _folder,
    "data": _data,
    "tmpfs": _tmpfs,
    "proc": _proc,
}
