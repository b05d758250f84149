"""``python -m sandbox``: which sandbox this machine gets."""

from __future__ import annotations

import sys

from sandbox.choose import best_sandbox
from sandbox.spec import SandboxUnavailable


def main() -> int:
    """Print the sandbox and its level and return 0, or why there is none and return 1."""
    try:
        sandbox = best_sandbox()
    except SandboxUnavailable as error:
        sys.stdout.write(f"{error}\n")
        return 1
    sys.stdout.write(f"{sandbox.name}: {sandbox.level}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
