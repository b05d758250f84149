"""What the backends on this machine have in common: from a job to a launcher and its pipes."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from sandbox import layout, seccomp
from sandbox.arenas import Arena, bytes_in_memory
from sandbox.identity import Identity, identity
from sandbox.launched import LocalRunning, NamespacedRunning, SignalledRunning
from sandbox.limits import kernel_counts_by_namespace, rlimits
from sandbox.process import Channels
from sandbox.spec import Isolation, Job, Limits, SandboxUnavailable

HOSTNAME = "sandbox"
PACKAGES = str(Path(__file__).resolve().parent.parent)
_ISOLATED = ("-I", "-S", "-B", "-c")  # nothing of the environment, no site packages, no .pyc files


def _run_main(module: str, folder: str, argument: int) -> list[str]:
    code = (
        f"import sys; sys.path.insert(0, {folder!r}); "
        f"from sandbox.{module} import main; main({argument})"
    )
    return [str(layout.interpreter()), *_ISOLATED, code]


class LocalSandbox(ABC):
    """Starts jobs below a launcher (sandbox.launch) and a first process (sandbox.inner)."""

    name: str
    isolation: Isolation
    level: str
    first = "inner"  # the module that process 1 runs
    confine_signals = False
    own_processes = True  # a process namespace, whose first process can stop all others
    folder: str | None = None  # one that is only this job's and goes with it
    stage = layout.STAGE  # where process 1 imports our code from
    home = "/tmp"  # noqa: S108 - the sandbox's own
    in_memory: tuple[str, ...] = ("tmp", "dev/shm")

    def start(self, job: Job) -> LocalRunning:
        """See sandbox.spec.Sandbox.

        Raises:
            SandboxUnavailable: the machine refuses.
            ValueError: the job names a file, tree or arena that is not allowed.
        """
        try:
            running = self._launch(job)
        except OSError as error:
            raise SandboxUnavailable(f"a sandbox could not be started: {error}") from error
        except KeyError as error:
            raise SandboxUnavailable(f"there is no filter for processor {error}") from error
        running.wait_until_started(self._pids(running), self.in_memory)
        return running

    def _pids(self, running: LocalRunning) -> Callable[[], list[int]] | None:  # noqa: ARG002 - the interface's
        """What names the processes of a job, None for its own /proc."""
        return None

    def _identity(self) -> Identity:
        return identity()

    def _shares_its_user(self, who: Identity) -> bool:
        """Whether the host's processes count against the job's limit of processes."""
        return who.change is None and not kernel_counts_by_namespace()

    @abstractmethod
    def _config(
        self, who: Identity, steps: list[layout.Step], first: list[str]
    ) -> dict[str, object]:
        """The launcher's userns, unshare, root and argv, for the process 1 that `first` runs."""

    def _steps(self, job: Job, opened: list[int]) -> list[layout.Step]:
        def to_descriptor(name: str, data: bytes) -> int:
            opened.append(bytes_in_memory(name, data))
            return opened[-1]

        return layout.steps(job, to_descriptor)

    def _inner(self, job: Job, who: Identity, arenas: dict[str, Arena]) -> dict[str, object]:
        paths = {
            f"ARENA_{name.upper()}": f"/proc/self/fd/{arena.descriptor}"
            for name, arena in arenas.items()
        }
        user = None
        if self._shares_its_user(who):
            user = who.change[0] if who.change else os.getuid()
        return {
            "ids": who.change,
            "rlimits": rlimits(job.limits, shared_user=user),
            "seccomp": seccomp.program().hex(),
            "obeys": self.own_processes,
            "keep": [arena.descriptor for arena in arenas.values()],
            "cwd": self.home,
            "argv": list(job.argv),
            "environment": {"HOME": self.home, **job.environment, **paths},
        }

    def _launch(self, job: Job) -> LocalRunning:
        who = self._identity()
        with ExitStack() as theirs, ExitStack() as ours:
            arenas: dict[str, Arena] = {}
            for name, size in job.arenas.items():
                arenas[name] = Arena(name, size)
                ours.callback(arenas[name].close)
            opened: list[int] = []
            theirs.callback(_close_all, opened)
            ends, channels = _connect(opened, ours)
            opened.append(os.pidfd_open(os.getpid()))
            ends["judge"] = opened[-1]
            steps = self._steps(job, opened)
            inner = self._inner(job, who, arenas)
            inner |= {
                "status": ends["status"],
                "alive": ends["alive"][0],
                "streams": (ends["stdin"], ends["stdout"]),
            }
            opened.append(bytes_in_memory("inner", json.dumps(inner).encode()))
            first = _run_main(self.first, self.stage, opened[-1])
            config = self._config(who, steps, first) | ends | {"hostname": HOSTNAME}
            config |= {"confine_signals": self.confine_signals, "folder": self.folder}
            opened.append(bytes_in_memory("launch", json.dumps(config).encode()))
            launcher = subprocess.Popen(  # noqa: S603 - our own interpreter and code
                _run_main("launch", PACKAGES, opened[-1]),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=ends["stderr"],
                env={},
                cwd="/",
                start_new_session=True,
                pass_fds=[*opened, *(arena.descriptor for arena in arenas.values())],
            )
            running = self._running(launcher, channels, arenas, job.limits)
            ours.pop_all()
        for arena in arenas.values():
            arena.close_descriptor()
        return running

    def _running(
        self,
        launcher: subprocess.Popen[bytes],
        channels: Channels,
        arenas: dict[str, Arena],
        limits: Limits,
    ) -> LocalRunning:
        kind = NamespacedRunning if self.own_processes else SignalledRunning
        return kind(launcher, channels, arenas, limits)


def _close_all(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _connect(opened: list[int], ours: ExitStack) -> tuple[dict[str, Any], Channels]:
    """Pipes to a launcher. Its ends are added to `opened` and named in the first result; the judge's
    are closed by `ours`."""
    ends: dict[str, Any] = {}
    mine: dict[str, int] = {}
    for name in ("stdin", "stdout", "stderr", "control"):
        pair = os.pipe()
        theirs = 0 if name in {"stdin", "control"} else 1
        ends[name], mine[name] = pair[theirs], pair[1 - theirs]
        opened.append(ends[name])
        ours.callback(os.close, mine[name])
    status, inner_status = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.callback(status.close)
    ends["status"] = inner_status.detach()
    ends["alive"] = os.pipe()
    opened += [ends["status"], *ends["alive"]]
    return ends, Channels(status=status, **mine)
