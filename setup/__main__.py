"""`python -m setup [--dev]`: see that the environment is complete; make or mend it if it is not.

When nothing is to be done this reads a few small files and ends. Two at a time are safe: the second
waits for the first, then looks again. An interrupted one goes on where it was.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from setup import environment
from setup.installer import install
from setup.parts import DEVELOPMENT, ENVIRONMENT, ROOT, RUNTIME, TORCH, Part, Stamps


def main() -> int:
    """The exit code: 0 when everything asked for is installed."""
    parser = argparse.ArgumentParser(prog="python -m setup", description=__doc__)
    parser.add_argument("--dev", action="store_true", help="also what tests and checks need")
    parts = [RUNTIME, TORCH, *([DEVELOPMENT] if parser.parse_args().dev else [])]
    stamps = Stamps()
    if all(stamps.is_current(part) for part in parts):
        return 0
    try:
        with _alone():
            _complete(parts, stamps)
    except environment.SetupFailed as failure:
        _complain(str(failure))
        return 1
    except KeyboardInterrupt:
        _complain("Stopped. `make setup` goes on from here.")
        return 130
    return 0


def _complete(parts: list[Part], stamps: Stamps) -> None:
    started = time.monotonic()
    if not environment.is_fit(ENVIRONMENT):
        version = ".".join(str(n) for n in sys.version_info[:3])
        _say(f"Making .venv with Python {version} ({environment.base_interpreter()}); once only.")
        environment.create(ENVIRONMENT)
    torch_index = os.environ.get("TORCH_INDEX", "").strip()
    for part in parts:
        if stamps.is_current(part):
            continue
        count = part.package_count()
        _say(f"Installing {part.meaning}: up to {count} package{'s' * (count != 1)}")
        stamps.clear(part)
        install(part, ENVIRONMENT, torch_index, _say)
        stamps.set(part)
    _say(f"Everything is set up in .venv ({time.monotonic() - started:.0f} s).")


@contextmanager
def _alone() -> Iterator[None]:
    """Hold the one lock on this checkout's environment; the kernel lets it go however we end."""
    folder = os.open(ROOT / "setup", os.O_RDONLY)
    try:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _say("Another set-up of this checkout is at work; waiting for it.")
            fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _complain(text: str) -> None:
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main())
