"""The signing key of an installation that was given none: made once, then kept beside its data."""

from __future__ import annotations

import os
import secrets
import tempfile
from contextlib import suppress
from pathlib import Path


def kept_secret_key(path: Path) -> str:
    """The key kept in `path`, readable by its owner only; made when there is none.

    Web server and workers start together, so that several may find no file at once: each writes its
    own under another name and links it into place, which succeeds for exactly one of them.
    """
    try:
        return path.read_text(encoding="ascii")
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent)  # mode 0600
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(50))
        Path(name).chmod(0o600)
        with suppress(FileExistsError):  # another process was first: its key is the installation's
            os.link(name, path)
    finally:
        Path(name).unlink()
    return path.read_text(encoding="ascii")
