"""Which sandbox this machine gets, found out by starting a job in it."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sandbox import bpf, layout
from sandbox.bubblewrap import BubblewrapSandbox
from sandbox.landlock import LandlockSandbox
from sandbox.namespaces import NamespaceSandbox
from sandbox.spec import DeadlinePassed, Job, JobEnded, Limits, Sandbox, SandboxUnavailable
from sandbox.unsafe import UnsafeSandbox

UNSAFE_FLAG = "--unsafe-no-sandbox"
VARIABLE = "BACKPASS_SANDBOX"
AUTO, DOCKER = "auto", "docker"
# The strongest first. bubblewrap before our own namespaces: systems let it make them that let nobody
# else.
AUTOMATIC: dict[str, Callable[[], Sandbox]] = {
    "bubblewrap": BubblewrapSandbox,
    "namespaces": NamespaceSandbox,
    "landlock": LandlockSandbox,
}
_ANSWER = b"isolated"
_PATIENCE = 20.0

# Files that say why the kernel refuses, what they say then, and the way out.
_CAUSES = (
    (
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "AppArmor keeps ordinary users from making namespaces (Ubuntu 23.10 and later): install "
        "bubblewrap together with its AppArmor profile, or run "
        "`sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0`",
    ),
    (
        "/proc/sys/kernel/unprivileged_userns_clone",
        "0",
        "ordinary users may not make namespaces: run `sudo sysctl kernel.unprivileged_userns_clone=1`",
    ),
    (
        "/proc/sys/user/max_user_namespaces",
        "0",
        "this machine allows no user namespaces: run `sudo sysctl user.max_user_namespaces=15000`",
    ),
)
_CONTAINER_MARKS = ("/.dockerenv", "/run/.containerenv")
_IN_A_CONTAINER = (
    "this is a container, whose own filter may forbid namespaces: allow them (for Docker "
    "`--security-opt seccomp=unconfined --security-opt systempaths=unconfined`), or run outside it"
)


@dataclass(frozen=True)
class Choice:
    """A sandbox, and why each stronger one that was tried is not it."""

    sandbox: Sandbox
    refusals: tuple[str, ...] = ()


def best_sandbox(*, unsafe: bool = False) -> Sandbox:
    """The sandbox of `choose`. Raises SandboxUnavailable as that does."""
    return choose(unsafe=unsafe).sandbox


def choose(*, unsafe: bool = False) -> Choice:
    """The sandbox that ``BACKPASS_SANDBOX`` names, or, if that is ``auto`` or not set, the strongest of
    `AUTOMATIC` that works here. `unsafe` accepts none at all.

    Raises:
        SandboxUnavailable: nothing isolates here and `unsafe` is false, or what was asked for does
            not. The message is for the operator: what was tried, what the machine forbids, what to do.
    """
    wanted = os.environ.get(VARIABLE) or AUTO
    if wanted not in (AUTO, DOCKER, *AUTOMATIC):
        known = ", ".join((AUTO, DOCKER, *AUTOMATIC))
        raise SandboxUnavailable(f"{VARIABLE} is {wanted!r}; it can be one of {known}")
    if wanted == DOCKER:
        return Choice(_docker())
    refusals: list[str] = []
    for name in AUTOMATIC if wanted == AUTO else (wanted,):
        candidate = AUTOMATIC[name]()
        refusal = _unsupported() or why_not(candidate)
        if refusal is None:
            return Choice(candidate, tuple(refusals))
        refusals.append(f"{name}: {refusal}")
    if unsafe:
        return Choice(UnsafeSandbox(), tuple(refusals))
    raise SandboxUnavailable(_explained(refusals))


def _unsupported() -> str | None:
    if sys.platform == "linux" and platform.machine() in bpf.ARCHITECTURES:
        return None
    return (
        f"jobs are isolated on Linux on x86_64 or aarch64; this is {sys.platform} on "
        f"{platform.machine()}: use WSL2, a container or a virtual machine"
    )


def _docker() -> Sandbox:
    """Containers or nothing: who asks for them must not get less without noticing."""
    from sandbox.docker import DockerSandbox  # the SDK is slow to import and only needed here

    try:
        chosen = DockerSandbox()
    except ValueError as error:
        raise SandboxUnavailable(str(error)) from error
    refusal = why_not(chosen)
    if refusal is not None:
        chosen.close()
        raise SandboxUnavailable(f"jobs cannot run in Docker containers: {refusal}")
    return chosen


def why_not(sandbox: Sandbox, python: str | None = None) -> str | None:
    """None if a trivial job runs in `sandbox` under `python`, or under this one's interpreter, else
    what went wrong."""
    program = f"import os; os.write(1, {_ANSWER!r})"
    job = Job(
        argv=(python or str(layout.interpreter()), "-I", "-S", "-c", program),
        trees=(Path(sys.base_prefix),),
        limits=Limits(wall=_PATIENCE),
    )
    try:
        with sandbox.start(job) as running:
            try:
                answer = running.read(len(_ANSWER), time.monotonic() + _PATIENCE)
            except (JobEnded, DeadlinePassed) as error:
                return f"a trivial job gave no answer ({error}). {running.printed().strip()}"
    except SandboxUnavailable as error:
        return str(error)
    return None if answer == _ANSWER else "a trivial job gave a wrong answer"


def _explained(refusals: list[str]) -> str:
    lines = ["Submissions cannot be isolated on this machine, so none will be run.", "Tried:"]
    lines += [f"  - {refusal}" for refusal in refusals]
    lines.append("What you can do:")
    lines += [f"  - {cure}" for cure in cures()]
    lines.append(
        f"  - on a machine where only you submit code, run without isolation: {UNSAFE_FLAG}"
    )
    return "\n".join(lines)


def cures() -> list[str]:
    """What would let this machine make namespaces, as far as it shows why it does not."""
    found = [cure for path, value, cure in _CAUSES if Path(path).exists() and _says(path, value)]
    if any(Path(mark).exists() for mark in _CONTAINER_MARKS):
        found.append(_IN_A_CONTAINER)
    if not shutil.which("bwrap"):
        found.append("install bubblewrap, which many systems trust with namespaces")
    return found


def _says(path: str, value: str) -> bool:
    return Path(path).read_text().strip() == value
