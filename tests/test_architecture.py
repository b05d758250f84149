"""Rules about the whole repository that no single test of a module would hold."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("problems", "kernels", "runner", "sandbox", "wire", "web", "setup")
LONGEST_FILE = 400

# Nothing may be added here without saying why the file cannot be cut in two.
LONGER_FILES: dict[str, str] = {
    "kernels/ssd/triton.py": "A submission is one file, and this one has four kernels.",
}


def tracked_files() -> list[Path]:
    """Files that belong to the repository, as git knows them."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def python_files() -> list[Path]:
    return [path for path in tracked_files() if path.suffix == ".py"]


def lock_files() -> list[Path]:
    return sorted((ROOT / "requirements").glob("*.txt"))


def requirements(lock_file: Path) -> list[str]:
    """Each requirement of a lock file with its continuation lines, comments left out."""
    text = lock_file.read_text(encoding="utf-8")
    without_comments = re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE)
    return without_comments.replace("\\\n", " ").splitlines()


def test_import_directions_hold():
    linter = Path(sys.executable).with_name("lint-imports")
    outcome = subprocess.run([linter], cwd=ROOT, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


def test_no_file_of_code_is_longer_than_a_sitting():
    too_long = {
        str(path.relative_to(ROOT)): length
        for path in python_files()
        if (length := len(path.read_text(encoding="utf-8").splitlines())) > LONGEST_FILE
    }
    assert set(too_long) == set(LONGER_FILES), too_long


def test_every_package_and_module_says_what_it_is():
    silent = [
        str(path.relative_to(ROOT))
        for path in python_files()
        if path.relative_to(ROOT).parts[0] in PACKAGES
        and path.read_text(encoding="utf-8").strip()
        and not {"migrations", "programs"} & set(path.parts)
        and not re.match(r'(#[^\n]*\n)*\s*r?"""', path.read_text(encoding="utf-8"))
    ]
    assert silent == []


@pytest.mark.parametrize("lock_file", lock_files(), ids=lambda path: path.name)
def test_every_dependency_is_pinned_and_all_but_torch_hashed(lock_file: Path):
    found = requirements(lock_file)
    assert found, "an empty lock file locks nothing"
    for requirement in found:
        assert re.match(r"[a-z0-9._\[\],-]+==[^ ]+", requirement, re.IGNORECASE), requirement
        assert "--hash=sha256:" in requirement or lock_file.stem == "torch", requirement


def test_lock_files_name_every_direct_dependency():
    for source in (ROOT / "requirements").glob("*.in"):
        locked = source.with_suffix(".txt").read_text(encoding="utf-8")
        for line in source.read_text(encoding="utf-8").splitlines():
            name = re.match(r"[A-Za-z0-9._-]+", line)
            if name and not line.startswith("-"):
                assert re.search(rf"^{re.escape(name[0])}(\[[^]]*\])?==", locked, re.MULTILINE), (
                    line
                )


def test_no_page_or_style_asks_a_foreign_server_for_an_asset():
    foreign = re.compile(
        r"""<(?:script|link|img|iframe|source)\b[^>]*(?:src|href)=["']?(?:https?:)?//"""
        r"""|@import\s+["']?(?:https?:)?//|url\(["']?(?:https?:)?//""",
        re.IGNORECASE,
    )
    guilty = [
        str(path.relative_to(ROOT))
        for path in tracked_files()
        if path.suffix in {".html", ".css", ".svg"}
        and foreign.search(path.read_text(encoding="utf-8"))
    ]
    assert guilty == []


def test_the_lists_of_packages_to_type_check_agree():
    """`make check` and the commit hook must not drift apart."""
    in_makefile = re.search(r"\bmypy ([a-z ]+)", (ROOT / "Makefile").read_text(encoding="utf-8"))
    hook = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    in_hook = re.search(r"bin/mypy ([a-z ]+)", hook)
    assert in_makefile
    assert in_hook
    assert in_makefile[1].split() == in_hook[1].split()
