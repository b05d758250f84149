"""How the Docker sandbox is configured: by arguments, or by the environment (see README.md)."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

PREFIX = "BACKPASS_DOCKER_"


def default_folder() -> Path:
    """A folder for sockets and files, in memory where the system offers one to this user."""
    if os.geteuid() == 0:
        return Path("/run/backpass")
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime:
        return Path(runtime) / "backpass"
    return Path(tempfile.gettempdir()) / f"backpass-{os.geteuid()}"


@dataclass(frozen=True)
class Settings:
    """What an operator decides.

    `image` None: an empty image, with the machine's own system folders shown in it. `bind_trees`: a
    job's trees are bound from the engine's machine rather than found in the image. `host_folder`: what
    the engine's machine calls `folder`, a path or a volume's name, None for the same. `runtime` None:
    the strongest that works. `devices`: identifiers of GPUs. `cpus`: how many processors a job may use
    at a time; `cpuset`: which, as in cpuset(7). `engine`: the engine's address, None for what the
    environment says.
    """

    image: str | None = None
    bind_trees: bool = True
    folder: Path = field(default_factory=default_folder)
    host_folder: str | None = None
    runtime: str | None = None
    devices: tuple[str, ...] = ()
    cpus: float = field(default_factory=lambda: float(len(os.sched_getaffinity(0))))
    cpuset: str | None = None
    engine: str | None = None

    def __post_init__(self) -> None:
        if not self.folder.is_absolute():
            raise ValueError(f"{PREFIX}DIR must be an absolute path: {self.folder}")
        if not self.bind_trees and self.image is None:
            raise ValueError(f"{PREFIX}TREES=image needs {PREFIX}IMAGE")
        if self.cpus <= 0:
            raise ValueError(f"{PREFIX}CPUS must be above 0: {self.cpus:g}")
        for device in self.devices:
            # A GPU is lent by its own name: its number changes when another one fails.
            if not device.startswith(("GPU-", "MIG-")):
                raise ValueError(
                    f"{PREFIX}GPUS takes identifiers as `nvidia-smi -L` prints them (GPU-…): {device}"
                )

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Self:
        """The settings in `environment`, os.environ if None. Raises ValueError naming the variable."""
        given = {
            name.removeprefix(PREFIX): value.strip()
            for name, value in (os.environ if environment is None else environment).items()
            if name.startswith(PREFIX) and value.strip()
        }
        image = given.get("IMAGE")
        trees = given.get("TREES", "bind" if image is None else "image")
        if trees not in {"bind", "image"}:
            raise ValueError(f"{PREFIX}TREES is bind or image, not {trees}")
        defaults = cls()
        return cls(
            image=image,
            bind_trees=trees == "bind",
            folder=Path(given.get("DIR", defaults.folder)),
            host_folder=given.get("HOST_DIR"),
            runtime=given.get("RUNTIME"),
            devices=tuple(
                name.strip() for name in given.get("GPUS", "").split(",") if name.strip()
            ),
            cpus=_number("CPUS", given.get("CPUS"), defaults.cpus),
            cpuset=given.get("CPUSET"),
        )


def _number(name: str, text: str | None, default: float) -> float:
    if text is None:
        return default
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{PREFIX}{name} is a number of processors, not {text}") from None
