"""A new problem's skeleton is in order, is found, and is told what is left to fill in."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from problems.tools.skeleton import MARK, UnusableName, write_skeleton

ROOT = Path(__file__).parents[2]
PACKAGES = ("problems", "kernels", "runner", "sandbox", "wire")


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As much of this repository as the command line needs, to add a problem to."""
    root = tmp_path_factory.mktemp("repository")
    ignore = shutil.ignore_patterns("__pycache__")
    for package in PACKAGES:
        shutil.copytree(ROOT / package, root / package, ignore=ignore)
    shutil.copy(ROOT / "pyproject.toml", root)
    return root


def run(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(root)}
    return subprocess.run(
        [sys.executable, "-m", *words],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def made(repository: Path) -> subprocess.CompletedProcess[str]:
    return run(repository, "problems", "new", "gated-norm")


def files_of(made: subprocess.CompletedProcess[str]) -> list[str]:
    return made.stdout.split("\n\n")[0].splitlines()


def test_it_names_the_files_it_wrote_and_what_comes_next(made, repository: Path):
    assert made.returncode == 0, made.stderr
    files = files_of(made)
    assert "problems/gated_norm/problem.py" in files
    assert "kernels/gated_norm/triton.py" in files
    assert "tests/wrong/gated_norm/zeros.py" in files
    assert all((repository / file).is_file() for file in files)
    assert "python -m problems check gated_norm" in made.stdout


@pytest.mark.parametrize("command", [("check",), ("format", "--check")])
def test_the_skeleton_passes_the_linter(made, repository: Path, command: tuple[str, ...]):
    checked = run(repository, "ruff", *command, "--no-cache", *files_of(made))
    assert checked.returncode == 0, checked.stdout


def test_its_check_lists_every_place_to_fill_in_and_goes_no_further(made, repository: Path):
    checked = run(repository, "problems", "check", "gated-norm")
    assert checked.returncode == 1, checked.stderr
    marked = sum(
        MARK in line
        for file in files_of(made)
        for line in (repository / file).read_text(encoding="utf-8").splitlines()
    )
    assert checked.stdout.count(MARK) == marked > 30
    assert 'problems/gated_norm/problem.py:1: """FILL IN' in checked.stdout
    assert checked.stdout.count("WRONG") == 1
    assert "autograd" not in checked.stdout


def test_the_list_has_the_new_problem_beside_the_others(made, repository: Path):
    listed = run(repository, "problems", "list")
    assert listed.returncode == 0, listed.stderr
    rows = {line.split()[0]: line for line in listed.stdout.splitlines()}
    assert {"gated_norm", "layer_norm"} <= set(rows)
    assert "pytorch, triton, triton_atomics" in rows["layer_norm"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("new", "layer-norm"), "problems/layer_norm exists already"),
        (("new", "Gated Norm"), "is not a name such as rms_norm"),
        (("check", "no_such"), "there is no problem 'no_such'"),
    ],
)
def test_what_cannot_be_done_is_said_with_exit_code_2(repository: Path, words, said: str):
    done = run(repository, "problems", *words)
    assert done.returncode == 2
    assert said in done.stderr


@pytest.mark.parametrize("name", ["", "_x", "x_", "two__scores", "Ü", "../up", "2x"])
def test_a_name_that_is_no_package_is_refused(tmp_path: Path, name: str):
    with pytest.raises(UnusableName):
        write_skeleton(name, tmp_path)
    assert list(tmp_path.iterdir()) == []
