"""What a job sees of the file system, as steps that both backends carry out.

A step is (kind, what, target): ``bind`` a host path read-only, ``device`` bind a device node, ``link``
make a symlink to `what`, ``folder`` with mode `what`, ``data`` a read-only file from the descriptor
`what`, ``tmpfs`` of `what` bytes, ``proc``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from sandbox.spec import Job

Step = tuple[str, str | int, str]

STAGE = "/stage"  # where our own first process finds its code
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
# Dynamic linking and Debian's compiler links; nothing else of /etc.
ETC = ("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives")
# Not /dev/zero: a shared mapping of it holds memory that no process's resident size shows.
_DEVICES = ("/dev/null", "/dev/full", "/dev/random", "/dev/urandom")
_PROCESSORS = "/sys/devices/system/cpu"  # numerical libraries read core and cache sizes here
_SHM = 64 << 20
_FORBIDDEN_TREES = ("/proc", "/sys", "/dev", "/etc", "/run", "/job", STAGE)
_PASSWD = b"root:x:0:0::/:/bin/false\njob:x:1000:1000::/tmp:/bin/false\n"
_GROUP = b"root:x:0:\njob:x:1000:\n"


def interpreter() -> Path:
    """The Python that runs our own first process: this one, without its virtual environment."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    base = Path(sys.base_prefix) / "bin" / version
    return base.resolve() if base.exists() else Path(sys.executable).resolve()


def stage_files() -> dict[str, bytes]:
    """Our own code that runs inside, relative to the folder it is imported from."""
    here = Path(__file__).parent
    names = ("__init__.py", "linux.py", "memory.py", "freezer.py", "orders.py", "inner.py")
    return {f"sandbox/{name}": (here / name).read_bytes() for name in names}


def steps(job: Job, to_descriptor: Callable[[str, bytes], int]) -> list[Step]:
    """The file system of `job`. `to_descriptor` turns a name and bytes into an open descriptor.

    Raises:
        ValueError: a file or a tree of the job has a path that cannot be allowed.
    """
    found = [("folder", 0o755, "/job"), *system()]
    found += [("bind", path, path) for path in ETC if Path(path).exists()]
    contents = {"/etc/passwd": _PASSWD, "/etc/group": _GROUP}
    contents |= {f"{STAGE}/{name}": data for name, data in stage_files().items()}
    contents |= {f"/job/{inside(name)}": data for name, data in job.files.items()}
    found += [("data", to_descriptor(path, data), path) for path, data in contents.items()]
    found.append(("proc", "proc", "/proc"))
    found += [("device", path, path) for path in _DEVICES]
    found += [
        ("link", f"/proc/self/fd{end}", f"/dev/{name}")
        for name, end in (("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2"))
    ]
    found += [("tmpfs", job.limits.tmp, "/tmp"), ("tmpfs", _SHM, "/dev/shm")]  # noqa: S108 - inside the job, its own
    wanted = [Path(sys.base_prefix), *job.trees]
    found += [("bind", str(tree), str(tree)) for tree in visible_trees(wanted)]
    if Path(_PROCESSORS).is_dir():
        found.append(("bind", _PROCESSORS, _PROCESSORS))
    return _with_parents(found)


def _with_parents(steps: list[Step]) -> list[Step]:
    """`steps` with every folder above a target made first, readable by all: bubblewrap would make
    them for itself alone."""
    made = {"/"}
    complete: list[Step] = []
    for step in steps:
        for parent in reversed(PurePosixPath(step[2]).parents):
            if str(parent) not in made:
                made.add(str(parent))
                complete.append(("folder", 0o755, str(parent)))
        made.add(step[2])
        complete.append(step)
    return complete


def system() -> list[Step]:
    found: list[Step] = []
    for name in SYSTEM:
        path = Path(name)
        if path.is_symlink():
            found.append(("link", str(path.readlink()), name))
        elif path.is_dir():
            found.append(("bind", name, name))
    return found


def inside(name: str) -> str:
    """`name` if it is a plain relative path. Raises ValueError."""
    path = PurePosixPath(name)
    if path.is_absolute() or not path.parts or ".." in path.parts or "\0" in name:
        raise ValueError(f"not a path below /job: {name!r}")
    return str(path)


def visible_trees(trees: list[Path]) -> list[Path]:
    """`trees` without those that are already visible with the system's folders or another tree.

    Raises:
        ValueError: a tree is not an absolute folder, or would show what a job must not see.
    """
    chosen: list[Path] = []
    for tree in sorted({Path(os.path.normpath(tree)) for tree in trees}):
        forbidden = any(tree.is_relative_to(name) for name in _FORBIDDEN_TREES)
        if not tree.is_absolute() or tree == Path("/") or forbidden:
            raise ValueError(f"this folder cannot be shown to a job: {tree}")
        if not tree.is_dir():
            raise ValueError(f"there is no folder {tree}")
        shown = [Path(name) for name in SYSTEM] + chosen
        if not any(tree.is_relative_to(other) for other in shown):
            chosen.append(tree)
    return chosen
