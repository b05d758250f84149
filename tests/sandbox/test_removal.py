from __future__ import annotations

import os
from pathlib import Path

from sandbox.removal import remove


def test_folders_of_any_depth_and_mode_are_removed():
    top = Path(f"/tmp/backpass-test-{os.getpid()}")
    top.mkdir()
    here = Path.cwd()
    try:
        os.chdir(top)
        for _ in range(400):
            Path("d" * 50).mkdir()
            os.chdir("d" * 50)
    finally:
        os.chdir(here)
    (top / "closed").mkdir(mode=0o000)
    (top / "link").symlink_to("/usr")
    os.mkfifo(top / "pipe")
    remove(top)
    assert not top.exists()
    remove(top)  # once more does no harm
