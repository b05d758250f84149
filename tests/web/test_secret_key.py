"""The key an installation makes for itself."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from web.secret_key import kept_secret_key


def test_it_is_made_once_and_kept_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "data" / "secret_key"
    key = kept_secret_key(path)
    assert len(key) >= 50
    assert kept_secret_key(path) == key
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == [path]


def test_processes_that_start_together_agree(tmp_path: Path) -> None:
    path = tmp_path / "secret_key"
    with ThreadPoolExecutor(16) as pool:
        keys = set(pool.map(kept_secret_key, [path] * 64))
    assert len(keys) == 1
