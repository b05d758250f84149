"""Isolation by bubblewrap (https://github.com/containers/bubblewrap), which many machines allow to make
namespaces where others may not."""

from __future__ import annotations

import shutil

from sandbox.identity import INSIDE, Identity
from sandbox.launched import LocalRunning
from sandbox.layout import Step
from sandbox.local import HOSTNAME, LocalSandbox
from sandbox.spec import Isolation, Job, SandboxUnavailable


class BubblewrapSandbox(LocalSandbox):
    """Jobs below bwrap."""

    name = "bubblewrap"
    isolation = Isolation.NAMESPACES
    level = (
        "Each job runs in its own Linux namespaces, made by bubblewrap: no network, a read-only file "
        "system, no privileges, a system call filter and resource limits. It shares the kernel with "
        "the host."
    )

    def __init__(self, program: str | None = None) -> None:
        """Use bwrap at `program`, or the one on the search path."""
        self._program = program or shutil.which("bwrap")

    def _launch(self, job: Job) -> LocalRunning:
        if self._program is None:
            raise SandboxUnavailable("bubblewrap (bwrap) is not installed")
        return super()._launch(job)

    def _config(self, who: Identity, steps: list[Step], first: list[str]) -> dict[str, object]:
        # As root the launcher makes the user namespace: bwrap itself maps only one user.
        user = None
        if who.privileged:
            user = {"privileged": True, "uid_map": who.uid_map, "gid_map": who.gid_map}
        argv = [str(self._program), *_NAMESPACES]
        if not who.privileged:
            argv += ["--unshare-user", "--uid", str(INSIDE), "--gid", str(INSIDE)]
        for kind, what, target in steps:
            argv += _arguments(kind, str(what), target)
        argv += ["--remount-ro", "/", "--chdir", "/", "--", *first]
        return {"userns": user, "unshare": 0, "root": None, "argv": argv}


_NAMESPACES = (
    "--unshare-ipc",
    "--unshare-pid",
    "--unshare-net",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--as-pid-1",
    "--die-with-parent",
    "--new-session",
    "--clearenv",
    "--hostname",
    HOSTNAME,
)


def _arguments(kind: str, what: str, target: str) -> list[str]:
    match kind:
        case "bind":
            return ["--ro-bind", what, target]
        case "device":
            return ["--dev-bind", what, target]
        case "link":
            return ["--symlink", what, target]
        case "folder":
            return ["--perms", f"{int(what):o}", "--dir", target]
        case "data":
            return ["--perms", "0444", "--ro-bind-data", what, target]
        case "tmpfs":
            return ["--perms", "1777", "--size", what, "--tmpfs", target]
        case "proc":
            return ["--proc", target]
        case _:
            raise AssertionError(f"no bubblewrap argument for a step of kind {kind}")
