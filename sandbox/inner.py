"""The first process inside every sandbox: gives up what it can, starts the job, waits for it.

It is process 1 of its own process namespace, so when it exits everything the job left behind dies.
It stays out of the job's reach (not dumpable, immune to signals from inside) and alone holds the
socket on which the job's end is told to the judge. Standard library only.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sandbox import linux, memory, orders

OOM_SCORE = 800  # if the machine runs out, the kernel should take the job rather than the judge
_ORDER = 64  # bytes of the longest one


def main(config_fd: int) -> None:
    """Run the job that the JSON in `config_fd` describes (see sandbox.plan)."""
    with os.fdopen(config_fd, "rb") as stream:
        config = json.load(stream)
    run(config, orders.obey if config["obeys"] else None)


class Confinement:
    """What is done around a job besides; nothing where namespaces or a container hold it."""

    def enter(self) -> None:
        """Called in the job's process, last before the system call filter. Raises OSError."""

    def started(self, job: int) -> None:
        """Called when the process `job` executed its program."""

    def abandoned(self) -> None:
        """Called when the launcher is gone, just before we exit."""


def run(
    config: dict[str, Any],
    obey: Callable[[bytes], bytes] | None = None,
    confinement: Confinement | None = None,
) -> None:
    """Start the job and tell the judge of its end. `obey` carries out what the judge sends meanwhile
    on its socket, and gives the answer, empty for none."""
    confinement = confinement or Confinement()
    judge = socket.socket(fileno=config["status"])
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # process 1 without a handler ignores it
        # Only here do the streams get their numbers: no process outside holds them meanwhile, so
        # that the judge sees their end as soon as the job closes them.
        for number, descriptor in enumerate(config["streams"]):
            os.dup2(descriptor, number)
        _give_up_privileges(config)
        alive = config["alive"]
        os.set_inheritable(alive, False)
        linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)  # changing the user cleared it
        if config.get("countable", True):
            _show_root(judge)
        _close_all_but({0, 1, 2, alive, judge.fileno(), *config["keep"]})
        child = _start(config, judge, confinement)
    except OSError as error:
        judge.send(f"failed {error}".encode()[:2000])
        sys.exit(1)
    for fd in (0, 1, 2, *config["keep"]):
        os.close(fd)  # or the judge would never see the end of a stream the job closed
    judge.send(b"started")
    status = _wait(child, alive, judge, obey, confinement)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = used.ru_utime + used.ru_stime
    judge.send(f"ended {status} {seconds:.3f} {memory.kills()}".encode())


def _show_root(judge: socket.socket) -> None:
    # O_PATH: through it the judge counts what the job uses, and nobody can read a file.
    root = os.open("/", os.O_PATH | os.O_DIRECTORY)
    socket.send_fds(judge, [b"root"], [root])
    os.close(root)


def _give_up_privileges(config: dict[str, Any]) -> None:
    if os.getsid(0) != os.getpid():
        os.setsid()
    Path("/proc/self/oom_score_adj").write_text(str(OOM_SCORE))
    linux.drop_bounding_capabilities()
    if config["ids"] is not None:
        user, group = config["ids"]
        os.setgroups([])
        os.setresgid(group, group, group)
        os.setresuid(user, user, user)
    linux.drop_capabilities()
    linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
    linux.prctl(linux.PR_SET_DUMPABLE, 0)


def _close_all_but(keep: set[int]) -> None:
    for entry in list(Path("/proc/self/fd").iterdir()):
        if int(entry.name) not in keep:
            try:
                os.close(int(entry.name))
            except OSError:
                continue  # the listing's own descriptor


def _start(config: dict[str, Any], judge: socket.socket, confinement: Confinement) -> int:
    """Fork and execute the job; returns its pid once execve succeeded. Raises OSError."""
    readable, writable = os.pipe()  # closed by a successful execve
    child = os.fork()
    if child == 0:
        try:
            judge.close()
            os.close(readable)
            _become_the_job(config, confinement)
        except BaseException as error:  # noqa: BLE001 - nothing may return into the parent's code
            os.write(writable, f"{type(error).__name__}: {error}".encode()[:2000])
        finally:
            os._exit(126)
    os.close(writable)
    with os.fdopen(readable, "rb") as stream:
        problem = stream.read()
    if problem:
        raise OSError(problem.decode(errors="replace"))
    confinement.started(child)
    return child


def _become_the_job(config: dict[str, Any], confinement: Confinement) -> None:
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)  # Python ignores them and children inherit that
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    os.umask(0o022)
    os.chdir(config["cwd"])
    for fd in config["keep"]:
        os.set_inheritable(fd, True)
    for name, wanted in config["rlimits"].items():
        number = getattr(resource, name)
        ceiling = resource.getrlimit(number)[1]
        unlimited = ceiling == resource.RLIM_INFINITY
        soft, hard = (value if unlimited else min(value, ceiling) for value in wanted)
        resource.setrlimit(number, (soft, hard))
    linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)  # where process 1 is not process 1
    linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
    confinement.enter()
    linux.install_seccomp(bytes.fromhex(config["seccomp"]))
    os.execve(config["argv"][0], config["argv"], config["environment"])  # noqa: S606 - replaces this process, no shell


def _wait(
    child: int,
    alive: int,
    judge: socket.socket,
    obey: Callable[[bytes], bytes] | None,
    confinement: Confinement,
) -> int:
    """The wait status of `child`, reaping whatever else ends and obeying meanwhile.

    Exits, and so ends the job, when the launcher is gone: `alive` is a pipe that only it holds the
    other end of. The death signal alone would not do: below bubblewrap our parent may be another user
    without privileges, and the kernel then drops its signal.
    """
    woken, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    watch = select.poll()
    watch.register(woken, select.POLLIN)
    watch.register(alive, 0)
    if obey is not None:
        watch.register(judge, select.POLLIN)
    while True:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == child:
            return status
        if pid != 0:
            continue
        ready = {descriptor for descriptor, _ in watch.poll()}
        if alive in ready:
            confinement.abandoned()
            os._exit(1)
        if woken in ready:
            os.read(woken, 4096)
        if obey is not None and judge.fileno() in ready:
            answer = obey(judge.recv(_ORDER))
            if answer:
                judge.send(answer)
