"""Isolation by Linux namespaces of our own making, for machines without bubblewrap."""

from __future__ import annotations

from dataclasses import asdict

from sandbox import linux
from sandbox.identity import Identity
from sandbox.layout import Step
from sandbox.local import LocalSandbox
from sandbox.spec import Isolation

_ALL = (
    linux.CLONE_NEWPID
    | linux.CLONE_NEWNET
    | linux.CLONE_NEWIPC
    | linux.CLONE_NEWUTS
    | linux.CLONE_NEWCGROUP
)


class NamespaceSandbox(LocalSandbox):
    """Jobs below a launcher that makes the namespaces and the root itself (sandbox.mounts)."""

    name = "namespaces"
    isolation = Isolation.NAMESPACES
    level = (
        "Each job runs in its own Linux namespaces: no network, a read-only file system, no "
        "privileges, a system call filter and resource limits. It shares the kernel with the host."
    )

    def _config(self, who: Identity, steps: list[Step], first: list[str]) -> dict[str, object]:
        return {"userns": asdict(who), "unshare": _ALL, "root": steps, "argv": first}
