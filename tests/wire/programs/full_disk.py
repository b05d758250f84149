"""Sends through the broker of files on a disk that fills up; prints what became of it as JSON."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from celery import Celery

from wire.broker import BROKER_ERRORS, celery_settings


def main() -> None:
    data = Path(os.environ["BACKPASS_DATA"])
    app = Celery()
    app.conf.update(celery_settings())
    app.send_task("t", args=["before"], queue="q")
    try:
        with (data / "filler").open("wb", buffering=0) as filler:
            while True:
                filler.write(bytes(4096))
    except OSError as full:
        said = {"filled": str(full)}
    try:
        app.send_task("t", args=["x" * 20_000], queue="q")
    except BROKER_ERRORS as error:
        said["refused"] = str(error)
    said["left"] = sorted(path.suffix for path in (data / "broker" / "queue").iterdir())
    with app.connection_for_read() as connection:
        message = connection.default_channel.basic_get("q")
        said["while full"] = message.payload[0][0]
        message.ack()
        (data / "filler").unlink()
        app.send_task("t", args=["after"], queue="q")
        said["after"] = connection.default_channel.basic_get("q", no_ack=True).payload[0][0]
    json.dump(said, sys.stdout)


if __name__ == "__main__":
    main()
