"""``python -m sandbox``: which sandbox this machine gets, and why no stronger one."""

from __future__ import annotations

import json
import sys

from sandbox.choose import Choice, choose, cures
from sandbox.spec import SandboxUnavailable


def main() -> int:
    """Print the sandbox and its level, with ``--json`` as an object with the keys name, isolation and
    level, and return 0; or print why there is none and return 1."""
    try:
        choice = choose()
    except SandboxUnavailable as error:
        sys.stdout.write(f"{error}\n")
        return 1
    sys.stdout.write(_as_json(choice) if "--json" in sys.argv[1:] else _in_words(choice))
    return 0


def _as_json(choice: Choice) -> str:
    chosen = choice.sandbox
    found = {"name": chosen.name, "isolation": chosen.isolation.value, "level": chosen.level}
    return f"{json.dumps(found)}\n"


def _in_words(choice: Choice) -> str:
    lines = [f"{choice.sandbox.name}: {choice.sandbox.level}"]
    lines += [f"  not {refusal}" for refusal in choice.refusals]
    if choice.sandbox.name == "landlock" and choice.refusals:
        lines += [f"  for a stronger level: {cure}" for cure in cures()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
