"""The tasks of the results worker: all of them, registered through one decorator."""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Callable
from typing import Any

from celery.exceptions import Reject
from celery.worker import state as worker_state
from django.db import DatabaseError, InterfaceError, OperationalError, connection

from web.celery import SWEEP_TASK, app
from web.inspection.storing import drop_old, record_inspection
from web.limits.storage import drop_spent
from web.runners.services import note_listening, record_announcement
from web.submissions.events import record_event
from web.submissions.rejudge import start_waiting
from web.submissions.sweeper import sweep
from wire.announcements import ANNOUNCE_TASK
from wire.messages import EVENT_TASK, INSPECTION_TASK
from wire.pace import SWEEP_SECONDS

logger = logging.getLogger(__name__)

LONGEST_PAUSE = 30.0
# How often something is tried while the database answers and yet refuses it: ten minutes in all.
REFUSALS = 25


def results_task(name: str) -> Callable[[Callable[..., None]], Any]:
    """Register a task of the results worker that waits while the database is locked or away."""

    def register(function: Callable[..., None]) -> Any:
        return app.task(name=name, acks_late=True)(patient(function))

    return register


def patient(function: Callable[..., None]) -> Callable[..., None]:
    """`function`, tried again until the database takes it.

    The worker waits in its place, so that events stay in their order: put back into the queue they would
    be overtaken by a sweep, which would take attempts for lost whose beats wait behind it.

    Raises:
        Reject: the worker is to stop; the message goes back into the queue.
        OperationalError: the database answers but has refused this many times.
    """

    @functools.wraps(function)
    def until_it_is_done(*arguments: Any) -> None:
        refusals, pause = 0, 1.0
        while True:
            try:
                return function(*arguments)
            except (OperationalError, InterfaceError) as error:
                refusals += _database_answers()
                if refusals >= REFUSALS:
                    raise
                logger.warning("the database is locked or away, trying again: %s", error)
            _sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    return until_it_is_done


def _database_answers() -> bool:
    connection.close()  # a broken one is not mended by using it again
    try:
        connection.ensure_connection()
    except DatabaseError:
        return False
    return True


def _sleep(seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if worker_state.should_stop is not None or worker_state.should_terminate is not None:
            raise Reject("the worker stops while the database is away", requeue=True)
        time.sleep(0.2)


class _Rounds:
    """Tells a sweep that comes after others from one before which nobody looked."""

    def __init__(self) -> None:
        self._last: float | None = None

    def is_after_a_pause(self) -> bool:
        """Whether runners may have spoken meanwhile and not been heard."""
        last, self._last = self._last, time.monotonic()
        return last is None or self._last - last > 2 * SWEEP_SECONDS


_rounds = _Rounds()


@results_task(EVENT_TASK)
def record(raw: Any) -> None:
    """Enter what a runner says of an attempt."""
    if record_event(raw):
        start_waiting()


@results_task(INSPECTION_TASK)
def inspection(raw: Any) -> None:
    """Keep what a runner found inside a submission."""
    record_inspection(raw)


@results_task(ANNOUNCE_TASK)
def announce(raw: Any) -> None:
    """Enter what a runner says of itself."""
    record_announcement(raw)


@results_task(SWEEP_TASK)
def sweep_all() -> None:
    """Look for what got lost, and for time to judge once more what is to be."""
    note_listening()
    drop_spent()
    drop_old()
    sweep(after_pause=_rounds.is_after_a_pause())
    start_waiting()
