"""Whether the process of this container does its work; exit code 0 if so. Standard library alone.

`healthcheck.py web` asks the web server for `/healthz`. `healthcheck.py loop SECONDS` looks whether the
file named by BACKPASS_LIVENESS_FILE (see `wire/liveness.py`) was touched within that time.
"""

from __future__ import annotations

import os
import sys
import time
from http.client import HTTPConnection, HTTPException
from pathlib import Path

_SERVER, _PATH = ("127.0.0.1", 8000), "/healthz"
_PATIENCE = 10.0


def main(arguments: list[str]) -> str:
    """An empty string, or what is wrong."""
    match arguments:
        case ["web"]:
            return web()
        case ["loop", seconds]:
            return loop(float(seconds))
    return __doc__ or ""


def web() -> str:
    """Asked under a name that the site answers to."""
    host = os.environ.get("ALLOWED_HOSTS", "localhost").split(",")[0].lstrip(".")
    connection = HTTPConnection(*_SERVER, timeout=_PATIENCE)
    try:
        connection.request("GET", _PATH, headers={"Host": host})
        answer = connection.getresponse()
        body = answer.read(500).decode(errors="replace")
    except (OSError, HTTPException) as error:
        return f"{_PATH} does not answer: {error!r}"
    finally:
        connection.close()
    return "" if answer.status == 200 else f"{_PATH} answers {answer.status}: {body}"


def loop(seconds: float) -> str:
    """Within how many seconds the loop must have turned."""
    file = Path(os.environ["BACKPASS_LIVENESS_FILE"])
    try:
        age = time.time() - file.stat().st_mtime
    except FileNotFoundError:
        return f"{file} is not there: the loop has not begun"
    return "" if age <= seconds else f"the loop last turned {age:.0f} s ago"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) or 0)
