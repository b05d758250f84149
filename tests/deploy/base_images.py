"""Images that stand in for the official ones: Debian's own packages behind the same contract."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.deploy.rootfs import RootFileSystem
from tests.serve.site import ROOT

_HERE = Path(__file__).parent
_POSTGRES = next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)), None)
# Of the environment, what only developers use.
_DEVELOPMENT = re.compile(
    r"/site-packages/(playwright|mypy|mypyc|grimp|virtualenv|[0-9a-f]+__mypyc[^/]*|ruff|uv|node)(/|$)"
    r"|/site-packages/torch/(test|include)$|/\.venv/bin/(ruff|uv|uvx)$"
)
_UNUSED = re.compile(r"/(test|tests|idlelib|ensurepip/_bundled|site-packages)$|\.a$")


def fill_python(root: RootFileSystem) -> None:
    """This Python as `python`, with the environment of these tests: what building would install."""
    root.add_packages(
        "zlib1g",
        "libssl3",
        "libffi8",
        "libbz2-1.0",
        "liblzma5",
        "libreadline8",
        "libsqlite3-0",
        "libncursesw6",
        "libuuid1",
        "libstdc++6",
        "libgomp1",
        "libexpat1",
        "ca-certificates",
        "tzdata",
    )
    prefix = Path(sys.base_prefix)
    root.add_tree(prefix, skip=_UNUSED)
    for name in ("python", "python3", f"python3.{sys.version_info[1]}"):
        root.link(f"usr/local/bin/{name}", f"{prefix}/bin/python3.{sys.version_info[1]}")
    root.add_tree(ROOT / ".venv", at="opt/backpass/.venv", skip=_DEVELOPMENT)


def fill_redis(root: RootFileSystem) -> None:
    root.add_packages("redis-server", "redis-tools", user=("redis", 999))
    root.folder("data", 0o755, 999)


def fill_postgres(root: RootFileSystem) -> None:
    """Debian's server with an entry point that obeys the variables of the official image."""
    version = _POSTGRES.parent.name if _POSTGRES else "15"
    root.add_packages(
        f"postgresql-{version}",
        f"postgresql-client-{version}",
        without=frozenset(
            {
                "libllvm14",
                "locales",
                "locales-all",
                "perl",
                "ssl-cert",
                "postgresql-common",
                "postgresql-client-common",
            }
        ),
        user=("postgres", 999),
    )
    root.file(
        "usr/local/bin/docker-entrypoint.sh", (_HERE / "images/postgres.sh").read_bytes(), 0o755
    )
    root.folder("var/lib/postgresql/data", 0o1777, 999)
    root.folder("run/postgresql", 0o1777, 999)


@dataclass(frozen=True)
class Base:
    """An image to import: what fills it, and its settings as Dockerfile lines."""

    name: str
    fill: Callable[[RootFileSystem], None]
    changes: Sequence[str]

    @property
    def tag(self) -> str:
        return f"backpass-test/{self.name}:imported"


PYTHON = Base("python", fill_python, ("ENV PATH=/usr/local/bin:/usr/sbin:/usr/bin", "CMD python3"))
REDIS = Base(
    "redis",
    fill_redis,
    (
        "ENV PATH=/usr/local/bin:/usr/sbin:/usr/bin",
        "VOLUME /data",
        "WORKDIR /data",
        "CMD redis-server",
    ),
)
POSTGRES = Base(
    "postgres",
    fill_postgres,
    (
        f"ENV PATH=/usr/local/bin:/usr/sbin:/usr/bin:{_POSTGRES}",
        "ENV PGDATA=/var/lib/postgresql/data",
        "VOLUME /var/lib/postgresql/data",
        'ENTRYPOINT ["docker-entrypoint.sh"]',
        'CMD ["postgres"]',
    ),
)


def import_image(base: Base, environment: Mapping[str, str]) -> str:
    """Make the image in the engine that `environment` names; its tag."""
    command = ["docker", "import"]
    for change in base.changes:
        command += ["--change", change]
    with subprocess.Popen(
        [*command, "-", base.tag], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as engine:
        assert engine.stdin is not None
        with tarfile.open(fileobj=engine.stdin, mode="w|") as archive:
            base.fill(RootFileSystem(archive))
        engine.stdin.close()
        assert engine.wait() == 0, f"{base.tag} could not be imported"
    return base.tag
