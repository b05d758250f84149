"""A file whose age says whether a Celery process still turns its loop, for health checks of containers.

`worker_enable_remote_control` is off, so that nothing can be asked of a worker over the broker.
Instead a worker started with `-I wire.liveness` touches the file named by `BACKPASS_LIVENESS_FILE`
whenever it would tell other workers that it lives (every two seconds), also while a job runs; one that
lost its broker stops doing so. `celery beat -S wire.liveness:LivingScheduler` touches it whenever it
looks at the clock. Without the variable nothing is touched.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from celery.beat import PersistentScheduler
from celery.signals import heartbeat_sent

VARIABLE = "BACKPASS_LIVENESS_FILE"


@heartbeat_sent.connect
def touch(**_: object) -> None:
    """Make the file as young as now."""
    path = os.environ.get(VARIABLE)
    if path:
        Path(path).touch()


class LivingScheduler(PersistentScheduler):
    """Celery's scheduler, touching the file at each look at what is due."""

    def tick(self, *arguments: Any, **options: Any) -> float:
        """Send what is due; the seconds until the next look."""
        seconds: float = super().tick(*arguments, **options)
        touch()
        return seconds
