"""Removing what an enemy left on disk. Standard library only."""

from __future__ import annotations

import os
from pathlib import Path


def remove(top: Path) -> None:
    """Remove the folder `top`, if it is there, and all in it. No process may still write to it.

    Folders may be nested deeper than a path can name, and be unreadable: so each one is opened to us
    and its folders are moved up before they are emptied in turn.

    Raises:
        OSError: something could not be removed.
    """
    waiting = [top] if top.exists() else []
    emptied: list[Path] = []
    moved = 0
    while waiting:
        folder = waiting.pop()
        folder.chmod(0o700)
        with os.scandir(folder) as entries:
            for entry in entries:
                child = Path(entry.path)
                if not entry.is_dir(follow_symlinks=False):
                    child.unlink()
                    continue
                if folder != top:
                    child.chmod(0o700)  # moving a folder changes it
                    moved += 1
                    child = child.rename(top / f"moved-{moved}")
                waiting.append(child)
        emptied.append(folder)
    for folder in reversed(emptied):
        folder.rmdir()
