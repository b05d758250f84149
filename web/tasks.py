"""The tasks of the results worker: all of them, registered through one decorator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db import InterfaceError, OperationalError

from web.celery import SWEEP_TASK, app
from web.submissions.events import record_event
from web.submissions.sweeper import sweep
from wire.messages import EVENT_TASK


def results_task(name: str) -> Callable[[Callable[..., None]], Any]:
    """Register a task of the results worker that tries again while the database is locked or away."""
    return app.task(
        name=name,
        acks_late=True,
        autoretry_for=(OperationalError, InterfaceError),
        max_retries=30,
        retry_backoff=1,
        retry_backoff_max=30,
    )


@results_task(EVENT_TASK)
def record(raw: Any) -> None:
    """Enter what a runner says of an attempt."""
    record_event(raw)


@results_task(SWEEP_TASK)
def sweep_all() -> None:
    """Look for what got lost."""
    sweep()
