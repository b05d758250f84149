"""The version that runners announce."""

from __future__ import annotations

import tomllib
from pathlib import Path

from wire.version import VERSION

PROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"


def test_runners_announce_the_version_of_the_project():
    assert tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["version"] == VERSION
