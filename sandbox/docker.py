"""Isolation by containers of a Docker engine (https://docs.docker.com/engine/), for production."""

from __future__ import annotations

import atexit
import os
import select
import socket
import threading
import time
from contextlib import ExitStack, suppress
from typing import Self

from sandbox import layout
from sandbox.docker_container import (
    FOLDER,
    OWNER,
    Place,
    files_and_binds,
    request,
    skeleton,
)
from sandbox.docker_engine import Engine, Printed
from sandbox.docker_first import SOCKET
from sandbox.docker_folder import Folder, listen, write_files
from sandbox.docker_running import DockerRunning, connect
from sandbox.docker_settings import Settings
from sandbox.spec import DeadlinePassed, Isolation, Job, JobEnded, Limits, SandboxUnavailable

GVISOR, ORDINARY = "runsc", "runc"
HOME = "/tmp"  # noqa: S108 - the job's own
_START = 30.0  # seconds a container may take to come up on a busy machine
_PROBE = """
import mmap, os
shared = mmap.mmap(os.open(os.environ["ARENA_PROBE"], os.O_RDWR), 4096)
shared[:8] = b"isolated"
os.write(1, b"x")
"""
_LEVEL = (
    "Each job runs in a container of its own: no network, a read-only file system, no privileges, "
    "system call filters, and limits that the kernel keeps for all its processes together. "
)
_SHARED_KERNEL = "It shares the kernel with the host."
_OWN_KERNEL = "gVisor stands between it and the host's kernel."


class DockerSandbox:
    """Jobs in containers. A context manager, or `close` it; a process that ends without leaves what
    the next one's start removes."""

    name = "docker"

    def __init__(self, settings: Settings | None = None) -> None:
        """Use `settings`, or those of the environment. The engine is asked at the first start.

        Raises:
            ValueError: the environment says what cannot be; the message names the variable.
        """
        self.settings = settings or Settings.from_environment()
        self.level = _LEVEL + _SHARED_KERNEL
        self.isolation = Isolation.CONTAINER
        self.runtime: str | None = None
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._engine: Engine | None = None
        self._folder: Folder
        self._host_folder: str
        self._image: str

    def start(self, job: Job) -> DockerRunning:
        """See sandbox.spec.Sandbox.

        Raises:
            SandboxUnavailable: the engine refuses, or the container does not answer.
            ValueError: the job names a file, tree or arena that is not allowed.
        """
        return self._start(job, self._ready())

    def _ready(self) -> Engine:
        with self._lock:
            if self._engine is None:
                with ExitStack() as undo:
                    engine = Engine(self.settings.engine)
                    undo.callback(engine.close)
                    self._prepare(engine)
                    undo.pop_all()
                self._engine = engine
                atexit.register(self.close)
            return self._engine

    def _prepare(self, engine: Engine) -> None:
        settings = self.settings
        base = engine.host_folder(settings.host_folder, str(settings.folder))
        self._image = engine.image(settings.image, skeleton())
        try:
            self._folder = Folder(settings.folder)
        except OSError as error:
            raise SandboxUnavailable(f"no folder for running jobs: {error}") from error
        try:
            self._host_base = base
            self._host_folder = f"{base}/{self._folder.owner}"
            self._sweep(engine)
            self._choose_runtime(engine)
        except BaseException:
            self._folder.close()
            raise

    def sweep(self) -> list[str]:
        """Remove what judges left behind that are dead: containers, whose ids are returned, and files.

        Raises:
            SandboxUnavailable: the engine does not answer.
        """
        return self._sweep(self._ready())

    def _sweep(self, engine: Engine, *, keep_mine: bool = True) -> list[str]:
        folder = self._folder
        dead = folder.abandoned()

        def is_alive(owner: str) -> bool:
            return keep_mine if owner == folder.owner else folder.is_alive(owner)

        swept = engine.sweep(self._host_base, is_alive)
        folder.remove(dead)
        return swept

    def _choose_runtime(self, engine: Engine) -> None:
        if self.settings.runtime is not None:
            self.runtime = self.settings.runtime
        elif GVISOR in engine.runtimes:
            self.runtime = GVISOR
            refusal = self._why_memory_is_not_shared(engine)
            if refusal is not None:
                self.runtime = ORDINARY
                self.level = (
                    f"{_LEVEL}{_SHARED_KERNEL} The engine offers gVisor, but a job there cannot share "
                    f"memory with the judge (register runsc with --host-uds=open): {refusal}"
                )
        elif ORDINARY in engine.runtimes:
            self.runtime = ORDINARY
        if self._is_gvisor():
            self.level = _LEVEL + _OWN_KERNEL
            self.isolation = Isolation.GVISOR

    def _is_gvisor(self) -> bool:
        return self.runtime is not None and self.runtime.startswith(GVISOR)

    def _why_memory_is_not_shared(self, engine: Engine) -> str | None:
        """None if a job in this runtime writes to an arena and the judge sees it."""
        job = Job(
            argv=(str(layout.interpreter()), "-I", "-S", "-c", _PROBE),
            arenas={"probe": 4096},
            limits=Limits(wall=_START),
        )
        try:
            with self._start(job, engine) as running:
                running.read(1, time.monotonic() + _START)
                seen = bytes(running.arena("probe")[:8])
        except (SandboxUnavailable, JobEnded, DeadlinePassed) as error:
            return str(error).strip().splitlines()[-1][:200]
        return None if seen == b"isolated" else "the judge sees another memory"

    def _start(self, job: Job, engine: Engine) -> DockerRunning:
        files, binds = files_and_binds(job, self.settings)
        if any(size < 1 for size in job.arenas.values()):
            raise ValueError("an arena needs a size of at least one byte")
        with ExitStack() as undo:
            folder = self._folder.job()
            undo.callback(self._folder.forget, folder)
            write_files(folder, files)
            listener = undo.enter_context(listen(folder / SOCKET.lstrip("/")))
            place = Place(
                version=engine.version,
                image=self._image,
                runtime=self.runtime,
                folder=f"{self._host_folder}/{folder.name}",
                labels={FOLDER: self._host_base, OWNER: self._folder.owner},
            )
            container = engine.create(request(job, self.settings, place, binds))
            undo.callback(engine.remove, container)
            printed = engine.start(container)
            undo.callback(printed.close)
            connection = _accepted(listener, printed)
            (folder / SOCKET.lstrip("/")).unlink()
            running = self._handed_over(connection, job, engine, container)
            undo.pop_all()
        printed.close()
        listener.close()
        running.afterwards(lambda: self._folder.forget(folder))
        running.wait_until_started(None, ())
        return running

    def _handed_over(
        self, connection: socket.socket, job: Job, engine: Engine, container: str
    ) -> DockerRunning:
        try:
            channels, arenas = connect(connection, job, HOME, countable=not self._is_gvisor())
        except (OSError, KeyError) as error:
            connection.close()
            raise SandboxUnavailable(f"the job could not be handed over: {error!r}") from error
        return DockerRunning(engine, container, channels, arenas, job.limits)

    def close(self) -> None:
        """Remove what is left of this sandbox's jobs and of dead judges, and hang up. Done when the
        process ends, if not before; not by processes that it forked."""
        with self._lock:
            engine, self._engine = self._engine, None
        if engine is None or os.getpid() != self._process:
            return
        atexit.unregister(self.close)
        with suppress(SandboxUnavailable):  # then the next start finds it
            self._sweep(engine, keep_mine=False)
        self._folder.close()
        engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _accepted(listener: socket.socket, printed: Printed) -> socket.socket:
    """The connection of the container's first process.

    Raises:
        SandboxUnavailable: it does not come; with what it printed instead.
    """
    watch = select.poll()
    watch.register(listener, select.POLLIN)
    watch.register(printed, select.POLLRDHUP)  # its end, not its words
    ready = {descriptor for descriptor, _ in watch.poll(_START * 1000)}
    if listener.fileno() in ready:
        return listener.accept()[0]
    if not ready:
        raise SandboxUnavailable("the container's first process does not call")
    raise SandboxUnavailable(f"the container's first process failed. {printed.text()}")


__all__ = ["DockerSandbox", "Settings"]
