"""Root file systems for container images, made from what is installed on this machine.

No image can be pulled where these tests run. A set of Debian packages with all that they depend on,
taken from the running system file by file, is what `debootstrap` would unpack, without the download.
"""

from __future__ import annotations

import io
import re
import subprocess
import tarfile
from collections.abc import Iterable, Sequence
from pathlib import Path

# What Debian's slim images have besides their essential packages and these tests use.
_ESSENTIAL = (
    "base-files",
    "base-passwd",
    "bash",
    "coreutils",
    "dash",
    "grep",
    "libc-bin",
    "login",
    "passwd",
    "sed",
)
_NOT_NEEDED = re.compile(
    r"/usr/share/(doc|man|info|locale|lintian|bug)/|/usr/lib/python3/|/usr/lib/llvm-|/llvmjit"
)
_ALTERNATIVE = re.compile(r"\s*\(.*?\)|:any")
_MERGED = {"bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib64": "usr/lib64"}
_FOLDERS = {
    "tmp": 0o1777,
    "var/tmp": 0o1777,
    "run": 0o755,
    "proc": 0o555,
    "sys": 0o555,
    "dev": 0o755,
}


def package_closure(names: Iterable[str], *, without: frozenset[str] = frozenset()) -> list[str]:
    """`names` and every installed package that they need, those in `without` and theirs left out."""
    needs = _dependencies()
    found: set[str] = set()
    waiting = [*_ESSENTIAL, *names]
    while waiting:
        name = waiting.pop()
        if name in found or name in without or name not in needs:
            continue
        found.add(name)
        waiting += needs[name]
    return sorted(found)


def _dependencies() -> dict[str, list[str]]:
    """Of every installed package, all alternatives of what it needs."""
    listed = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Package}\t${Pre-Depends}, ${Depends}\n"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    needs: dict[str, list[str]] = {}
    for line in listed.splitlines():
        name, _, wanted = line.partition("\t")
        words = re.split(r"[,|]", _ALTERNATIVE.sub("", wanted))
        needs[name] = [word.strip() for word in words if word.strip()]
    return needs


def package_files(packages: Sequence[str]) -> list[Path]:
    """Every file of `packages` under its real path, documentation left out."""
    listed = subprocess.run(
        ["dpkg-query", "-L", *packages], capture_output=True, text=True, check=True
    ).stdout
    files: set[Path] = set()
    for line in listed.splitlines():
        path = Path(line)
        if not line.startswith("/") or _NOT_NEEDED.search(line):
            continue
        if path.is_symlink() or path.is_file():
            files.add(path.parent.resolve() / path.name)
    return sorted(files)


class RootFileSystem:
    """A system that others than root may read, being written to an archive."""

    def __init__(self, archive: tarfile.TarFile) -> None:
        self._tar = archive
        self._written: set[str] = set()
        for name, target in _MERGED.items():
            self.link(name, target)
        for name, mode in _FOLDERS.items():
            self.folder(name, mode)

    def add_packages(
        self,
        *names: str,
        without: frozenset[str] = frozenset(),
        user: tuple[str, int] | None = None,
    ) -> None:
        """Packages and what they need, and perhaps a user of their own."""
        for path in package_files(package_closure(names, without=without)):
            self.add(path)
        for path in sorted(Path("/etc/alternatives").iterdir()):
            self.add(path)
        self.add(Path("/etc/ld.so.cache"))
        for name in ("passwd", "group"):
            known = Path(f"/usr/share/base-passwd/{name}.master").read_text()
            if user:
                rest = "::/:/bin/sh" if name == "passwd" else ""
                known += f"{user[0]}:x:{user[1]}:{user[1] if name == 'passwd' else ''}{rest}\n"
            self.file(f"etc/{name}", known.encode())

    def add_tree(
        self, path: Path, *, at: str | None = None, skip: re.Pattern[str] | None = None
    ) -> None:
        """All below `path`, at the same place or `at` another. Names that `skip` finds stay out."""
        inside = at or str(path).lstrip("/")
        for child in sorted(path.iterdir()):
            if skip and skip.search(str(child)):
                continue
            if child.is_dir() and not child.is_symlink():
                self.add_tree(child, at=f"{inside}/{child.name}", skip=skip)
            else:
                self.add(child, at=f"{inside}/{child.name}")

    def add(self, path: Path, *, at: str | None = None) -> None:
        """One file or link, belonging to root."""
        name = at or str(path).lstrip("/")
        if name in self._written:
            return
        self._parents(name)
        entry = self._tar.gettarinfo(path, name)
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        entry.mode |= 0o444 | (0o111 if entry.mode & 0o100 else 0)
        entry.mode &= 0o755
        self._written.add(name)
        if entry.isreg():
            with path.open("rb") as content:
                self._tar.addfile(entry, content)
            return
        self._tar.addfile(entry)

    def file(self, name: str, content: bytes, mode: int = 0o644) -> None:
        entry = tarfile.TarInfo(name)
        entry.size, entry.mode = len(content), mode
        self._parents(name)
        self._tar.addfile(entry, io.BytesIO(content))
        self._written.add(name)

    def link(self, name: str, target: str) -> None:
        entry = tarfile.TarInfo(name)
        entry.type, entry.linkname, entry.mode = tarfile.SYMTYPE, target, 0o777
        self._parents(name)
        self._tar.addfile(entry)
        self._written.add(name)

    def folder(self, name: str, mode: int = 0o755, owner: int = 0) -> None:
        if name in self._written:
            return
        self._parents(name)
        entry = tarfile.TarInfo(name)
        entry.type, entry.mode, entry.uid, entry.gid = tarfile.DIRTYPE, mode, owner, owner
        self._tar.addfile(entry)
        self._written.add(name)

    def _parents(self, name: str) -> None:
        for parent in reversed([str(path) for path in Path(name).parents if str(path) != "."]):
            self.folder(parent)
