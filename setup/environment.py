"""The virtual environment itself: is the one that is there fit, and making a new one."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path


class SetupFailed(Exception):
    """Setting up cannot go on; the message says why and what to do."""


def base_interpreter() -> str:
    """The Python that environments are made from, also when this one belongs to an environment."""
    return getattr(sys, "_base_executable", None) or sys.executable


def is_fit(environment: Path) -> bool:
    """Whether `environment` runs, is of this Python's version and has pip.

    One that was left half made fails here, so an interrupted set-up needs no other mark.
    """
    python = environment / "bin" / "python"
    question = (
        f"import sys, pip; raise SystemExit(sys.version_info[:3] != {tuple(sys.version_info[:3])})"
    )
    try:
        answer = subprocess.run([python, "-c", question], capture_output=True, check=False)
    except OSError:
        return False
    return answer.returncode == 0


def create(environment: Path) -> None:
    """Make `environment` new with pip in it, in place of whatever is there.

    Raises:
        SetupFailed: this Python lacks what that takes, or could not do it.
    """
    python = base_interpreter()
    _require_venv(python)
    if environment.is_symlink() or environment.is_file():
        environment.unlink()
    elif environment.exists():
        shutil.rmtree(environment)
    made = subprocess.run(
        [python, "-m", "venv", environment], capture_output=True, text=True, check=False
    )
    if made.returncode != 0:
        raise SetupFailed(f"{python} could not make {environment}:\n{made.stdout}{made.stderr}")


def _require_venv(python: str) -> None:
    missing = [name for name in ("venv", "ensurepip") if importlib.util.find_spec(name) is None]
    if missing:
        version = ".".join(str(n) for n in sys.version_info[:2])
        raise SetupFailed(
            f"{python} comes without {' and '.join(missing)}, which making an environment takes.\n"
            f"On Debian and Ubuntu: apt install python{version}-venv. Elsewhere install the whole of"
            f" Python {version},\nor name another Python: make setup PYTHON=/path/to/python3"
        )
