"""What the operator chose, and the paths that follow from it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from wire.broker import data_directory

ROOT = Path(__file__).resolve().parent.parent.parent
DEFAULT_PORT = 8000
LAST_PORT = 65535


@dataclass(frozen=True)
class Options:
    """How to serve. `port` is where the search for a free one begins; 0 lets the system choose."""

    host: str
    port: int
    unsafe_no_sandbox: bool
    judge: bool
    data: Path

    @property
    def logs(self) -> Path:
        return self.data / "logs"


def parse(arguments: Sequence[str] | None = None) -> Options:
    """The options from the command line; usage errors end the program as argparse does."""
    parser = argparse.ArgumentParser(
        prog="python -m web.serve",
        description="Starts web server, workers and judge, and stops them all on Ctrl-C.",
        epilog="Data are kept in .data, or where the environment variable BACKPASS_DATA says.",
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    parser.add_argument(
        "--port",
        type=_port,
        default=DEFAULT_PORT,
        help="first port to try; when it is taken the next free one is used (%(default)s)",
    )
    parser.add_argument(
        "--no-judge",
        action="store_true",
        help="start no judge here: submissions wait for one started elsewhere or later",
    )
    parser.add_argument(
        "--unsafe-no-sandbox",
        action="store_true",
        help="judge submissions without isolation where the machine has none: every submission can"
        " then read, change and send away all that you can. Only for code you wrote yourself",
    )
    chosen = parser.parse_args(arguments)
    return Options(
        host=chosen.host,
        port=chosen.port,
        unsafe_no_sandbox=chosen.unsafe_no_sandbox,
        judge=not chosen.no_judge,
        data=data_directory(),
    )


def _port(text: str) -> int:
    number = int(text)
    if not 0 <= number <= LAST_PORT:
        raise argparse.ArgumentTypeError(f"a port is a number from 0 to {LAST_PORT}")
    return number
