"""What is asked of the engine for one job: a pure function of the job and the settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from docker.types import (
    ContainerConfig,
    DeviceRequest,
    HostConfig,
    LogConfig,
    Mount,
    Ulimit,
)

from sandbox import layout
from sandbox.docker_settings import Settings
from sandbox.identity import NOBODY
from sandbox.layout import STAGE
from sandbox.local import HOSTNAME
from sandbox.spec import Job

LABEL = "org.backpass.sandbox"
FOLDER, OWNER = f"{LABEL}.folder", f"{LABEL}.owner"
_SHM = 64 << 20
_INODE_BYTES = 4096  # of a job's /tmp for each file it may make there
_OURS = 1  # process 1
_CODE = f"import sys; sys.path.insert(0, {STAGE!r}); from sandbox.docker_first import main; main()"
# moby's oci.DefaultSpec; a list of one's own takes its place.
_MASKED = (
    "/proc/asound",
    "/proc/acpi",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/proc/interrupts",
    "/sys/firmware",
    # Ours: a shared mapping of it holds memory that no process's resident size shows.
    "/dev/zero",
)
_KEPT = {
    "/sys": {"devices", "fs", "firmware"},
    "/sys/fs": {"cgroup"},
    "/sys/devices": {"system"},
    "/sys/devices/system": {"cpu"},
}
_STAGED = ("docker_first.py",)
_PASSWD = f"root:x:0:0::/:/bin/false\njob:x:{NOBODY}:{NOBODY}::/tmp:/bin/false\n".encode()
_GROUP = f"root:x:0:\njob:x:{NOBODY}:\n".encode()
_OWN_FILES = ("/etc/passwd", "/etc/group")
# The engine writes these from the machine's own; a job gets empty ones, in /etc of no network.
_EMPTY_FILES = ("/etc/hosts", "/etc/resolv.conf")
_OWN = ("/job", STAGE, *_OWN_FILES, *_EMPTY_FILES, "/etc/hostname")
_SYSTEM_TARGETS = (*layout.SYSTEM, *layout.ETC)


@dataclass(frozen=True)
class Place:
    """Where a container is made: the engine's API version, the image, the runtime (None for the
    engine's default), what the engine's machine calls the folder with the files of `files_and_binds`,
    and the labels by which a sweep finds it."""

    version: str
    image: str
    runtime: str | None
    folder: str
    labels: Mapping[str, str]


def files_and_binds(job: Job, settings: Settings) -> tuple[dict[str, bytes], list[tuple[str, str]]]:
    """The files to write for `job`, by their paths in the container, and the pairs (path on the
    machine, path in the container) to bind read-only.

    Raises:
        ValueError: a file or a tree of the job has a path that cannot be allowed.
    """
    contents: list[tuple[str, bytes]] = []

    def remember(path: str, data: bytes) -> int:
        contents.append((path, data))
        return len(contents) - 1

    steps = layout.steps(job, remember)
    here = Path(__file__).parent
    files = {f"{STAGE}/sandbox/{name}": (here / name).read_bytes() for name in _STAGED}
    files |= {target: contents[int(what)][1] for kind, what, target in steps if kind == "data"}
    files |= {"/etc/passwd": _PASSWD, "/etc/group": _GROUP}
    files |= dict.fromkeys(_EMPTY_FILES, b"") | {"/etc/hostname": f"{HOSTNAME}\n".encode()}
    return files, [
        (str(what), target) for kind, what, target in steps if _bound(kind, target, settings)
    ]


def _bound(kind: str, target: str, settings: Settings) -> bool:
    if kind != "bind" or target.startswith("/sys/"):  # sysfs is there, what it may show is masked
        return False
    if settings.image is None:
        return True
    return settings.bind_trees and target not in _SYSTEM_TARGETS


def skeleton() -> dict[str, str]:
    """The links, path to target, that the root of the empty image must have: those of this machine's
    own root."""
    return {target: str(what) for kind, what, target in layout.system() if kind == "link"}


def request(
    job: Job,
    settings: Settings,
    place: Place,
    binds: list[tuple[str, str]],
) -> ContainerConfig:
    """What the engine's ``POST /containers/create`` takes for `job`."""
    limits = job.limits
    mounts = [(f"{place.folder}{path}", path) for path in _OWN] + binds
    host = HostConfig(
        version=place.version,
        runtime=place.runtime,
        network_mode="none",
        ipc_mode="private",
        cgroupns="private",
        read_only=True,
        mounts=[_read_only(source, target) for source, target in mounts],
        tmpfs=_tmpfs(job),
        shm_size=_SHM,
        cap_drop=["ALL"],
        # The engine's own system call filter stays in place besides.
        security_opt=["no-new-privileges"],
        pids_limit=limits.processes + _OURS,
        mem_limit=limits.memory,
        memswap_limit=limits.memory,
        nano_cpus=round(settings.cpus * 1e9),
        cpuset_cpus=settings.cpuset,
        # Not nproc, which counts a user's processes in all containers together: pids_limit does it.
        ulimits=[
            Ulimit(name="core", soft=0, hard=0),
            Ulimit(name="nofile", soft=limits.open_files, hard=limits.open_files),
            Ulimit(name="fsize", soft=limits.file_size, hard=limits.file_size),
        ],
        log_config=LogConfig(type=LogConfig.types.NONE),
        auto_remove=True,
        init=False,
        device_requests=_devices(settings),
    )
    host["MaskedPaths"] = masked(settings)
    return ContainerConfig(
        version=place.version,
        image=place.image,
        # Without the environment, without site packages, without .pyc files.
        entrypoint=[str(layout.interpreter()), "-I", "-S", "-B"],
        command=["-c", _CODE],
        working_dir="/",
        user=f"{NOBODY}:{NOBODY}",
        hostname=HOSTNAME,
        labels=dict(place.labels),
        host_config=host,
    )


def _read_only(source: str, target: str) -> Mount:
    # Without a propagation of its own: the engine refuses the private one for what lies in its volumes.
    mount = Mount(target=target, source=source, type="bind", read_only=True)
    # What is mounted below it would be bound writable.
    mount["BindOptions"] = {"NonRecursive": True}
    return mount


def _tmpfs(job: Job) -> dict[str, str]:
    size = job.limits.tmp
    files = max(1024, size // _INODE_BYTES)
    return {
        "/tmp": f"rw,exec,nosuid,nodev,size={size},nr_inodes={files},mode=1777",  # noqa: S108 - inside the job, its own
    }


def masked(settings: Settings) -> list[str]:
    """What of /proc and /sys is hidden: what the engine hides by default, and the machine's
    description but for its processors and the container's own control group. Drivers of a device
    need that description."""
    if settings.devices:
        return list(_MASKED)
    found = list(_MASKED)
    for folder, kept in _KEPT.items():
        if Path(folder).is_dir():
            found += [str(path) for path in sorted(Path(folder).iterdir()) if path.name not in kept]
    return found


def _devices(settings: Settings) -> list[DeviceRequest]:
    if not settings.devices:
        return []
    return [
        DeviceRequest(
            driver="nvidia",
            device_ids=list(settings.devices),
            capabilities=[["gpu", "compute", "utility"]],
        )
    ]
