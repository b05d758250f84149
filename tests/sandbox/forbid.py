"""``forbid.py WHAT,... COMMAND ...``: run a command on a kernel that seems not to have some things.

`namespaces` refuses to make them, as a container's filter does; `landlock` is a kernel built without it,
`landlock-off` one that was started without it. Standard library and our own filters only.
"""

from __future__ import annotations

import errno
import os
import platform
import sys

from sandbox import bpf, linux, seccomp
from sandbox.bpf import Instruction

_LANDLOCK = (444, 445, 446)


def _refusals(what: str) -> list[Instruction]:
    index = bpf.column(platform.machine())
    refuse = bpf.refuse(errno.EPERM)
    match what:
        case "namespaces":
            clone = [bpf.argument(0), bpf.if_any_bit(seccomp.NEW_NAMESPACES, 0, 1), refuse]
            return [
                *bpf.refusing([seccomp.DENIED["unshare"][index]], errno.EPERM),
                *bpf.refusing([seccomp.ABSENT["clone3"][index]], errno.ENOSYS),
                *bpf.when(seccomp.CLONE[index], [*clone, bpf.ALLOW]),
            ]
        case "landlock":
            return bpf.refusing(_LANDLOCK, errno.ENOSYS)
        case "nothing":
            return []
        case "landlock-off":
            return bpf.refusing(_LANDLOCK, errno.EOPNOTSUPP)
        case _:
            raise ValueError(what)


def main() -> None:
    code = bpf.beginning(platform.machine())
    for what in sys.argv[1].split(","):
        code += _refusals(what)
    linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
    linux.install_seccomp(bpf.assembled([*code, bpf.ALLOW]))
    os.execvp(sys.argv[2], sys.argv[2:])


if __name__ == "__main__":
    main()
