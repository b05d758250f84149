"""`docker-compose.yml` brought up as an operator would, on an engine of its own or the machine's."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import docker
from docker.models.containers import Container

from tests.serve.site import ROOT, wait_for

PROJECT = "backpass-test"
REPOSITORY, VERSION = "backpass-test/backpass", "0.0.0-test"
IMAGE = f"{REPOSITORY}:{VERSION}"
# A one-shot, which has ended when all is well.
ONCE = "migrate"
SERVICES = ("postgres", "redis", "migrate", "web", "results", "scheduler", "runner")
RUNNING = tuple(name for name in SERVICES if name != ONCE)
_PATIENCE = 300.0


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class Installation:
    """One compose project. `engine` is the engine's address, None for where the environment says;
    `images` maps variables of the compose file to the images to use for them."""

    def __init__(self, folder: Path, engine: str | None, images: Mapping[str, str]) -> None:
        self._client = docker.from_env() if engine is None else docker.DockerClient(base_url=engine)
        address = engine or os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": os.environ.get("HOME", "/"),
            "DOCKER_HOST": address,
        }
        self.port, self.proxy_port = free_port(), free_port()
        self._images = tuple(images.values())
        self._settings = folder / "env"
        self._settings.write_text(self._made_settings(address.removeprefix("unix://"), images))

    @property
    def environment(self) -> Mapping[str, str]:
        """Of the processes that talk to the engine."""
        return self._environment

    def _made_settings(self, engine_socket: str, images: Mapping[str, str]) -> str:
        """What `deploy/new-env.sh` makes for a new site, and where these tests differ from one."""
        made = subprocess.run(
            ["sh", "deploy/new-env.sh", "localhost"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        own = {
            "COMPOSE_PROJECT_NAME": PROJECT,
            "BACKPASS_IMAGE": REPOSITORY,
            "BACKPASS_VERSION": VERSION,
            # The lock files are installed already in the base image: building fetches nothing.
            "BUILD_NETWORK": "none",
            "WEB_LISTEN": f"127.0.0.1:{self.port}",
            "CSRF_TRUSTED_ORIGINS": f"https://localhost:{self.proxy_port}",
            "DOCKER_SOCKET": engine_socket,
            "DOCKER_GID": str(Path(engine_socket).stat().st_gid),
            **images,
        }
        kept = [line for line in made.splitlines() if line.partition("=")[0] not in own]
        return "\n".join([*kept, *(f"{name}={value}" for name, value in own.items()), ""])

    def compose(self, *arguments: str) -> str:
        """What `docker compose` says to `arguments`; an assertion error when it fails."""
        command = ("docker", "compose", "--env-file", str(self._settings), *arguments)
        return self.run(*command)

    def run(self, *command: str, **variables: str) -> str:
        """What a command in the checkout prints that talks to this engine and project."""
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=self._environment | {"COMPOSE_ENV_FILES": str(self._settings)} | variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        assert done.returncode == 0, f"{command}:\n{done.stdout[-4000:]}{done.stderr[-4000:]}"
        return done.stdout

    def up(self) -> None:
        """Build the image, start everything, wait until all is healthy."""
        self.compose("build")
        self.compose("up", "--detach", "--no-build")
        self.wait_until_healthy()

    def container(self, service: str) -> Container:
        # The image has the first two as well, and with it the containers of jobs.
        labels = [
            f"com.docker.compose.project={PROJECT}",
            f"com.docker.compose.service={service}",
            "com.docker.compose.oneoff=False",
        ]
        (found,) = self._client.containers.list(all=True, filters={"label": labels})
        return found

    def facts(self, service: str) -> dict[str, Any]:
        """All that the engine knows of a service's container."""
        facts: dict[str, Any] = self.container(service).attrs
        return facts

    def variables(self, service: str) -> dict[str, str]:
        """The environment that a service's container was given."""
        given = (line.partition("=") for line in self.facts(service)["Config"]["Env"])
        return {name: value for name, _, value in given}

    def address(self, service: str) -> list[str]:
        """A container's addresses in all of its networks."""
        networks = self.facts(service)["NetworkSettings"]["Networks"].values()
        return [network["IPAddress"] for network in networks if network["IPAddress"]]

    def networks(self, service: str) -> list[dict[str, Any]]:
        """What the engine knows of the networks that a container is in."""
        identifiers = [
            network["NetworkID"]
            for network in self.facts(service)["NetworkSettings"]["Networks"].values()
        ]
        return [self._client.networks.get(identifier).attrs for identifier in identifiers]

    def inside(self, service: str, *command: str) -> tuple[int, str]:
        """Exit code and output of a command in a service's container."""
        code, output = self.container(service).exec_run(list(command))
        assert isinstance(output, bytes)
        return int(code or 0), output.decode(errors="replace")

    def python(self, service: str, code: str) -> tuple[int, str]:
        """Exit code and output of Python code in a service's container."""
        return self.inside(service, "python", "-c", code)

    def image_labels(self) -> dict[str, str]:
        labels: dict[str, str] = self._client.images.get(IMAGE).labels
        return labels

    def states(self) -> dict[str, str]:
        """Of every service: its health, or how the one-shot ended."""
        states = {}
        for service in SERVICES:
            state = self.facts(service)["State"]
            health = state.get("Health", {}).get("Status", "")
            states[service] = health or f"{state['Status']} {state['ExitCode']}"
        return states

    def wait_until_healthy(self) -> None:
        wanted = {name: "exited 0" if name == ONCE else "healthy" for name in SERVICES}
        try:
            wait_for(lambda: self.states() == wanted, "all services healthy", _PATIENCE)
        except AssertionError as error:
            logs = self.compose("logs", "--no-color", "--tail", "40")
            raise AssertionError(f"{error}: {self.states()}\n{logs}") from None

    def down(self) -> None:
        """Leave nothing behind in the engine."""
        self.compose("down", "--volumes", "--timeout", "5")
        for name in (IMAGE, *self._images):
            self._client.images.remove(name, force=True)
        self._client.close()
