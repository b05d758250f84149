"""Reads numbers from the queue `q` of the folder given, and writes each down before it is acknowledged.

reader.py FOLDER hold     takes one message and keeps it until it is killed
reader.py FOLDER work     reads until it is killed
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from kombu import Connection

from tests.wire.test_files import connect


def main(folder: Path, what: str) -> None:
    connection: Connection
    with connect(folder) as connection:
        channel = connection.default_channel
        while True:
            message = channel.basic_get("judge.cpu")
            if message is None:
                time.sleep(0.01)
                continue
            with (folder / "written").open("a", encoding="utf-8") as written:
                written.write(f"{message.payload['number']}\n")
            while what == "hold":
                time.sleep(1)
            time.sleep(0.005)
            message.ack()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
