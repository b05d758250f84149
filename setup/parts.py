"""What gets installed, and how it is known that it already was.

A part is one lock file. Its stamp, a file inside the environment, holds the lock file's hash and the
Python it was installed for: when either changes the part is installed again, and only that part.
"""

from __future__ import annotations

import hashlib
import os
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / ".venv"


@dataclass(frozen=True)
class Part:
    """A lock file to install. `hashed` says that each of its lines must match a hash."""

    name: str
    meaning: str
    hashed: bool

    @property
    def lock_file(self) -> Path:
        return ROOT / "requirements" / f"{self.name}.txt"

    def package_count(self) -> int:
        """How many packages the lock file names."""
        lines = self.lock_file.read_text(encoding="utf-8").splitlines()
        return sum("==" in line and not line.lstrip().startswith("#") for line in lines)

    def fingerprint(self) -> str:
        """What the stamp must say: the Python, the machine and the lock file's hash."""
        python = ".".join(str(n) for n in sys.version_info[:3])
        digest = hashlib.sha256(self.lock_file.read_bytes()).hexdigest()
        return f"python {python} {os.uname().machine} sha256 {digest}\n"


RUNTIME = Part("runtime", "what the web site and the judge need", hashed=True)
TORCH = Part("torch", "PyTorch", hashed=False)
DEVELOPMENT = Part("dev", "what tests, linters and type checks need", hashed=True)


@dataclass(frozen=True)
class Stamps:
    """The stamps of one environment."""

    environment: Path = ENVIRONMENT

    def is_current(self, part: Part) -> bool:
        """Whether `part` was installed here, from this lock file, for this Python."""
        try:
            return self._path(part).read_text(encoding="utf-8") == part.fingerprint()
        except FileNotFoundError:
            return False

    def set(self, part: Part) -> None:
        """Record that `part` is installed. Written aside and renamed, so never half there."""
        path = self._path(part)
        path.parent.mkdir(exist_ok=True)
        aside = path.with_suffix(".new")
        aside.write_text(part.fingerprint(), encoding="utf-8")
        aside.replace(path)

    def clear(self, part: Part) -> None:
        """Forget `part`: while it is being installed its old stamp would be a lie."""
        self._path(part).unlink(missing_ok=True)

    def _path(self, part: Part) -> Path:
        return self.environment / "backpass-stamps" / part.name
