"""Finding a Python and telling what is missing, before anything is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout without an environment."""
    shutil.copytree(ROOT / "setup", tmp_path / "setup")
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
    return tmp_path


def command(folder: Path, name: str, script: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def bootstrap(checkout: Path, path: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", str(checkout / "setup" / "bootstrap.sh")],
        env={"PATH": path, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(("system", "machine"), [("Darwin", "arm64"), ("Linux", "riscv64")])
def test_another_system_is_told_what_to_use(checkout: Path, system: str, machine: str):
    tools = checkout / "tools"
    command(tools, "uname", f'[ "$1" = -s ] && echo {system} || echo {machine}')
    ended = bootstrap(checkout, f"{tools}:/usr/bin:/bin")
    assert ended.returncode == 1
    assert "WSL2" in ended.stderr
    assert "container" in ended.stderr


def test_without_a_fitting_python_it_says_which_ones_fit(checkout: Path):
    tools = checkout / "tools"
    for name in ("python3", "python3.11", "python3.12", "python3.13"):
        command(tools, name, "exit 1")  # a shim for a version that is not installed
    for name in ("uname", "dirname"):
        (tools / name).symlink_to(f"/usr/bin/{name}")
    ended = bootstrap(checkout, str(tools))
    assert ended.returncode == 1
    assert "3.11, 3.12 or 3.13" in ended.stderr
    assert "PYTHON=" in ended.stderr


def test_a_python_that_was_named_is_not_replaced_by_another(checkout: Path):
    ended = bootstrap(checkout, "/usr/bin:/bin", PYTHON="/bin/false")
    assert ended.returncode == 1
    assert "PYTHON=/bin/false" in ended.stderr


def test_a_failed_install_shows_pips_words_and_leaves_no_stamp(checkout: Path):
    (checkout / "requirements" / "runtime.txt").write_text("no-hash-given==1.0\n")
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    ended = bootstrap(checkout, path, PYTHON=sys.executable, HOME=os.environ.get("HOME", "/"))
    assert ended.returncode == 1
    assert "hash" in ended.stderr
    assert "goes on from here" in ended.stderr
    assert not (checkout / ".venv" / "backpass-stamps" / "runtime").exists()
