"""What the operator reads."""

from __future__ import annotations

import sys
from contextlib import suppress


def say(text: str) -> None:
    """One line (or a few) to the operator. A terminal that is gone is no reason to stop a site."""
    with suppress(OSError):
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
