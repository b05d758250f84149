"""Celery settings that both sides must agree on, read from the environment.

`REDIS_URL` names the broker. Without it messages are files under `BACKPASS_DATA` (`wire.files`), which
needs no server and is meant for one machine.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from kombu.exceptions import ChannelError, KombuError

from wire.files import SCHEME

# The longest a job may run before Celery kills the worker's process; everything inside is shorter.
SOFT_TIME_LIMIT = 560
HARD_TIME_LIMIT = 600
# Redis gives a message to another worker when nobody acknowledged it for so long. Shorter than a job
# would have two runners judge the same one.
VISIBILITY_TIMEOUT = 2 * HARD_TIME_LIMIT
# How long a Redis that took the connection may be silent: one that is frozen or cut off must look like
# one that is away. Longer than the second for which workers wait for messages.
ANSWER_SECONDS = 5

# What a broker raises that is away, or full.
BROKER_ERRORS = (KombuError, ChannelError, OSError)


def data_directory() -> Path:
    """Where an installation keeps its database and messages when it has no servers for them."""
    return Path(os.environ.get("BACKPASS_DATA", ".data")).resolve()


def celery_settings() -> dict[str, Any]:
    """Settings for `Celery.conf.update`, as Celery's documentation recommends for long jobs."""
    settings: dict[str, Any] = {
        "task_serializer": "json",
        "accept_content": ["json"],
        "task_ignore_result": True,
        "task_acks_late": True,
        "task_reject_on_worker_lost": True,
        "worker_prefetch_multiplier": 1,
        "worker_consumer": "wire.consumer:Consumer",
        "task_soft_time_limit": SOFT_TIME_LIMIT,
        "task_time_limit": HARD_TIME_LIMIT,
        "task_track_started": False,
        # A broker may be away for long; a worker that gave up on it would have to be started by hand.
        "broker_connection_retry": True,
        "broker_connection_retry_on_startup": True,
        "broker_connection_max_retries": None,
        # A job goes on while the broker is away: only its verdict needs one, and waits for it.
        "worker_cancel_long_running_tasks_on_connection_loss": False,
        "worker_send_task_events": False,
        "worker_enable_remote_control": False,
        "enable_utc": True,
    }
    redis_url = os.environ.get("REDIS_URL", "")
    return settings | (_redis(redis_url) if redis_url else _files(data_directory() / "broker"))


def _redis(url: str) -> dict[str, Any]:
    from wire import acks  # not needed, nor its library, without Redis

    acks.use()
    return {
        "broker_url": url,
        "broker_transport_options": {
            "visibility_timeout": VISIBILITY_TIMEOUT,
            "socket_timeout": ANSWER_SECONDS,
            "socket_connect_timeout": ANSWER_SECONDS,
            "socket_keepalive": True,
        },
    }


def _files(folder: Path) -> dict[str, Any]:
    queue, control = folder / "queue", folder / "control"
    for path in (queue, control):
        path.mkdir(parents=True, exist_ok=True)
    return {
        "broker_url": f"{SCHEME}://localhost",
        "broker_transport_options": {
            "data_folder_in": str(queue),
            "data_folder_out": str(queue),
            "control_folder": str(control),
            "store_processed": False,
            "polling_interval": 0.1,
        },
    }
