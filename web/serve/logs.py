"""One log file for each service, turned over at each start."""

from __future__ import annotations

from pathlib import Path

KEPT = 5


def fresh_log(folder: Path, name: str) -> Path:
    """An empty `name`.log in `folder`; the ones of earlier starts become `name`.1.log and so on."""
    folder.mkdir(parents=True, exist_ok=True)
    current = folder / f"{name}.log"
    numbered = [folder / f"{name}.{n}.log" for n in range(1, KEPT + 1)]
    for older, newer in zip(reversed(numbered), reversed([current, *numbered[:-1]]), strict=True):
        if newer.exists():
            newer.replace(older)
    current.touch(mode=0o600)
    return current


def last_lines(log: Path, count: int) -> list[str]:
    """The last `count` lines, from at most the last 16 KiB."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - 16384))
        return file.read().decode(errors="replace").splitlines()[-count:]
