"""The few things that are asked of a Docker engine, through its SDK."""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import docker
import requests
from docker.errors import DockerException, ImageNotFound, NotFound
from docker.types import ContainerConfig
from docker.utils.socket import frames_iter

from sandbox.docker_container import FOLDER, OWNER
from sandbox.output import harmless
from sandbox.spec import SandboxUnavailable

EMPTY_IMAGE = "backpass-sandbox-empty"
_PATIENCE = 30  # seconds for one answer on a busy machine
_REMOVAL = 10  # seconds until a container that was told to end is taken by force
_SHOWN = 2000
# Limits that an engine without delegated control groups ignores with a warning.
_NEEDED = ("MemoryLimit", "PidsLimit", "CpuCfsQuota")
_ERRORS = (DockerException, requests.RequestException, OSError)


@contextmanager
def explained(doing: str) -> Iterator[None]:
    """What the engine refuses, as SandboxUnavailable with a sentence for the operator."""
    try:
        yield
    except _ERRORS as error:
        reason = getattr(error, "explanation", None) or error
        raise SandboxUnavailable(f"{doing}: {reason}") from error


class Printed:
    """What a container's first process prints itself: nothing, unless it fails before the job."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def fileno(self) -> int:
        """A descriptor that is ready when something was printed or the container ended."""
        return int(self._stream.fileno())

    def text(self) -> str:
        """All of it; returns when the container has ended."""
        frames = frames_iter(self._stream, tty=False)  # type: ignore[no-untyped-call]  # a library's, without types
        return harmless(b"".join(data for _, data in frames)[-_SHOWN:]).strip()

    def close(self) -> None:
        """Hang up."""
        self._stream._response.close()  # closes the stream and its connection


class Engine:
    """A connection to an engine. `close` it."""

    def __init__(self, address: str | None) -> None:
        """Connect to `address`, or where the environment says.

        Raises:
            SandboxUnavailable: nothing answers there.
        """
        with explained(
            "the Docker engine does not answer (is it running, does DOCKER_HOST name it, and may this "
            "user talk to it?)"
        ):
            self._client = (
                docker.from_env(timeout=_PATIENCE)
                if address is None
                else docker.DockerClient(base_url=address, timeout=_PATIENCE)
            )
            try:
                told = self._client.info()
                lacking = [name for name in _NEEDED if told.get(name) is False]
                if lacking:
                    raise SandboxUnavailable(
                        f"the engine cannot bound a job ({', '.join(lacking)}): give it control groups"
                    )
            except BaseException:
                self._client.close()
                raise
        self.runtimes = frozenset(told["Runtimes"])

    def close(self) -> None:
        """Hang up."""
        self._client.close()

    def host_folder(self, given: str | None, ours: str) -> str:
        """What the engine's machine calls our folder `ours`, if the operator says `given`: an
        absolute path, the name of a volume, or None for the same."""
        if given is None or given.startswith("/"):
            return given or ours
        with explained(f"there is no volume {given}"):
            return str(self._client.volumes.get(given).attrs["Mountpoint"])

    def image(self, name: str | None, skeleton: Mapping[str, str]) -> str:
        """The image called `name`, which must exist, or for None an empty one whose root has only
        the links of `skeleton`, path to target.

        Raises:
            SandboxUnavailable: it does not exist or cannot be made.
        """
        made = name is None
        name = name or _empty_image(skeleton)
        with explained(f"looking for the image {name}"):
            try:
                return str(self._client.images.get(name).id)
            except ImageNotFound:
                if not made:
                    raise SandboxUnavailable(
                        f"the engine has no image {name}, and images are never fetched for you: "
                        "build or pull it"
                    ) from None
        with explained("making an empty image"):
            repository, tag = name.split(":")
            self._client.api.import_image_from_data(_root(skeleton), repository, tag)
            return str(self._client.images.get(name).id)

    @property
    def version(self) -> str:
        """Of its API."""
        return str(self._client.api.api_version)

    def create(self, config: ContainerConfig) -> str:
        """Make a container, and its id.

        Raises:
            SandboxUnavailable: the engine refuses.
        """
        with explained("the engine made no container"):
            made = self._client.api.create_container_from_config(config)  # type: ignore[no-untyped-call]  # a library's, without types
            return str(made["Id"])

    def start(self, identifier: str) -> Printed:
        """Start a container.

        Raises:
            SandboxUnavailable: the engine refuses.
        """
        with explained("the engine did not start the container"):
            printed = Printed(
                self._client.api.attach_socket(
                    identifier, params={"stdout": 1, "stderr": 1, "stream": 1}
                )
            )
            try:
                self._client.api.start(identifier)
            except BaseException:
                printed.close()
                raise
        return printed

    def wait_until_removed(self, identifier: str) -> None:
        """Return when a container that is ending is gone, with all its processes and mounts. One that
        does not end is taken by force. If the engine fails, the next sweep will do it."""
        try:
            self._client.api.wait(identifier, timeout=_REMOVAL, condition="removed")
        except NotFound:
            return
        except _ERRORS:
            self.remove(identifier)

    def remove(self, identifier: str) -> None:
        """Kill and remove a container, if it exists and the engine answers."""
        try:
            self._client.api.remove_container(identifier, force=True, v=True)
        except _ERRORS:
            return  # gone, or about to be; what stays carries our label for the next sweep

    def sweep(self, folder: str, is_alive: Callable[[str], bool]) -> list[str]:
        """Remove the containers of `folder` whose owners are dead, and return their ids.

        Raises:
            SandboxUnavailable: the engine does not list them.
        """
        with explained("looking for containers that were left behind"):
            found = self._client.api.containers(all=True, filters={"label": [f"{FOLDER}={folder}"]})
        dead = [one["Id"] for one in found if not is_alive(one["Labels"].get(OWNER, ""))]
        for identifier in dead:
            self.remove(identifier)
        return dead


def _empty_image(skeleton: Mapping[str, str]) -> str:
    digest = hashlib.sha256(_root(skeleton)).hexdigest()
    return f"{EMPTY_IMAGE}:{digest[:12]}"


def _root(skeleton: Mapping[str, str]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for path, target in skeleton.items():
            entry = tarfile.TarInfo(path.lstrip("/"))
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            archive.addfile(entry)
        folder = tarfile.TarInfo("tmp")
        folder.type, folder.mode = tarfile.DIRTYPE, 0o1777  # what is mounted there takes it over
        archive.addfile(folder)
    return stream.getvalue()
