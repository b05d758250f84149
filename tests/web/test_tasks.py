"""The results worker's tasks, as Celery calls them."""

from __future__ import annotations

from typing import Any

import pytest
from celery.exceptions import Retry
from django.db import OperationalError

from tests.web.samples import make_submission, verdict_event
from web import tasks
from web.accounts.models import User
from web.celery import app
from wire.messages import EVENT_TASK, RESULTS_QUEUE


def test_the_runners_event_reaches_the_database(alice: User) -> None:
    submission = make_submission(alice)
    app.tasks[EVENT_TASK].apply(args=(verdict_event(submission),), throw=True)
    submission.refresh_from_db()
    assert submission.verdict == "accepted"


def test_tasks_are_acknowledged_when_they_are_done_and_run_on_the_results_queue() -> None:
    ours = [task for name, task in app.tasks.items() if not name.startswith("celery.")]
    assert {task.name for task in ours} == {EVENT_TASK, "web.sweep"}
    for task in ours:
        assert task.acks_late
        assert app.amqp.router.route({}, task.name)["queue"].name == RESULTS_QUEUE


@pytest.mark.parametrize("task", [tasks.record, tasks.sweep_all])
def test_a_locked_database_is_tried_again(task: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def locked(*_: object) -> None:
        raise OperationalError("database is locked")

    monkeypatch.setattr(tasks, "record_event", locked)
    monkeypatch.setattr(tasks, "sweep", locked)
    arguments: tuple[Any, ...] = ({},) if task is tasks.record else ()
    with pytest.raises(Retry):
        task.apply(args=arguments, throw=True)


def test_the_sweep_is_due_every_ten_seconds_and_too_old_ones_are_dropped() -> None:
    entry = app.conf.beat_schedule["sweep"]
    assert entry["task"] in app.tasks
    assert entry["schedule"] == entry["options"]["expires"] == 10
