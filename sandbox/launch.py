"""The process between the judge and a sandbox: enters namespaces, starts process 1, sees it die.

The judge starts one launcher for each job. It shares the judge's trust but none of its memory. It kills
the sandbox when told to, when the judge is gone (a descriptor of the judge's process tells, because a
parent-death signal is tied to the thread that forked), and dies with everything below it otherwise.
Standard library only, so that it starts in a few hundredths of a second.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any

from sandbox import landlock_kernel, linux, mounts, removal


def main(config_fd: int) -> None:
    """Run what the JSON in `config_fd` describes (see sandbox.local), until it ended."""
    with os.fdopen(config_fd, "rb") as stream:
        config = json.load(stream)
    try:
        linux.prctl(linux.PR_SET_CHILD_SUBREAPER, 1)
        if config["confine_signals"]:
            landlock_kernel.confine_signals(outsider=os.getppid())
        if config["userns"] is not None:
            _enter_user_namespace(config["userns"])
        if config["unshare"]:
            linux.unshare(config["unshare"])
        if config["unshare"] & linux.CLONE_NEWUTS:
            socket.sethostname(config["hostname"])
        for fd in (config["control"], config["judge"], config["alive"][1]):
            os.set_inheritable(fd, False)
        child = os.fork()
    except OSError as error:
        _failed(config, error)
    if child == 0:
        try:
            _become_process_one(config)
        except OSError as error:
            _failed(config, error)
    _let_go_of_the_streams(config)
    _until_it_ends(child, config)
    reap_everything(child, confined=config["confine_signals"])
    if config["folder"] is not None:
        removal.remove(Path(config["folder"]))  # the judge may be gone and unable to do it


def _failed(config: dict[str, Any], error: OSError) -> None:
    socket.socket(fileno=os.dup(config["status"])).send(f"failed {error}".encode()[:2000])
    os._exit(1)


def _enter_user_namespace(identity: dict[str, Any]) -> None:
    """Unshare the user namespace and map users into it. Only a process outside with CAP_SETUID may
    map more than the caller's own user, so as root a helper stays outside to do it."""
    if not identity["privileged"]:
        linux.unshare(linux.CLONE_NEWUSER)
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(identity["uid_map"])
        Path("/proc/self/gid_map").write_text(identity["gid_map"])
        return
    readable, writable = os.pipe()
    launcher = os.getpid()
    helper = os.fork()
    if helper == 0:
        os.close(writable)
        code = 1
        try:
            if os.read(readable, 1):
                Path(f"/proc/{launcher}/uid_map").write_text(identity["uid_map"])
                Path(f"/proc/{launcher}/gid_map").write_text(identity["gid_map"])
                code = 0
        finally:
            os._exit(code)
    os.close(readable)
    try:
        linux.unshare(linux.CLONE_NEWUSER)
        os.write(writable, b"x")
    finally:
        os.close(writable)
        _, status = os.waitpid(helper, 0)
    if status != 0:
        raise PermissionError("mapping users into the new namespace was refused")


def _become_process_one(config: dict[str, Any]) -> None:
    os.close(config["alive"][1])
    linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
    watch = select.poll()
    watch.register(config["alive"][0], 0)
    if watch.poll(0):
        os._exit(1)  # the launcher died before the death signal was armed
    if config["root"] is not None:
        mounts.build_root(config["root"])
        if not config["userns"]["privileged"]:
            # Without a change of user to come, executing is what takes the capabilities away, and
            # with them the right to drop these.
            linux.drop_bounding_capabilities()
    os.execve(config["argv"][0], config["argv"], {})  # noqa: S606 - replaces this process, no shell


def _let_go_of_the_streams(config: dict[str, Any]) -> None:
    nothing = os.open("/dev/null", os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nothing, fd)
    kept = {0, 1, 2, config["control"], config["judge"], config["alive"][1]}
    for entry in list(Path("/proc/self/fd").iterdir()):
        if int(entry.name) not in kept:
            try:
                os.close(int(entry.name))
            except OSError:
                continue  # the listing's own descriptor


def _until_it_ends(child: int, config: dict[str, Any]) -> None:
    watch = select.poll()
    ended = os.pidfd_open(child)
    for fd in (ended, config["control"], config["judge"]):
        watch.register(fd, select.POLLIN)
    watch.poll()
    os.kill(child, signal.SIGKILL)  # not reaped yet, so the pid is still this child's


def reap_everything(child: int | None, *, confined: bool) -> None:
    """Wait for `child` and for whatever was left to us as the nearest subreaper, which we end.

    Where signals are `confined`, one to everybody reaches all that ever came from us and nobody else,
    all at the same time, so that none of them can still start another. Else some may be a step ahead.
    """
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            if confined:
                _kill_everybody()
            for orphan in _children():
                if orphan != child:
                    os.kill(orphan, signal.SIGKILL)
            time.sleep(0.002)


def _kill_everybody() -> None:
    try:
        os.kill(-1, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return  # there is nobody whom we may signal


def _children() -> list[int]:
    """Our children that were not waited for; they keep their pids until we do."""
    own = os.getpid()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                after_name = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # ended while we looked
            if int(after_name[1]) == own:
                found.append(int(entry.name))
    return found


if __name__ == "__main__":
    main(int(sys.argv[1]))
