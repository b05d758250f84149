"""The results worker's tasks, as Celery calls them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from celery.exceptions import Reject
from celery.worker import state as worker_state
from django.db import OperationalError

from tests.web.samples import make_submission, verdict_event
from web import tasks
from web.accounts.models import User
from web.celery import app
from wire.announcements import ANNOUNCE_TASK
from wire.messages import EVENT_TASK, INSPECTION_TASK, RESULTS_QUEUE
from wire.pace import SWEEP_SECONDS


def test_the_runners_event_reaches_the_database(alice: User) -> None:
    submission = make_submission(alice)
    app.tasks[EVENT_TASK].apply(args=(verdict_event(submission),), throw=True)
    submission.refresh_from_db()
    assert submission.verdict == "accepted"


def test_tasks_are_acknowledged_when_they_are_done_and_run_on_the_results_queue() -> None:
    # A runner's task is known to every Celery application of the process that imported it.
    ours = [task for task in app.tasks.values() if task.__module__ == tasks.__name__]
    assert {task.name for task in ours} == {
        EVENT_TASK,
        INSPECTION_TASK,
        ANNOUNCE_TASK,
        "web.sweep",
    }
    for task in ours:
        assert task.acks_late
        assert app.amqp.router.route({}, task.name)["queue"].name == RESULTS_QUEUE


TASKS = [
    (tasks.record, "record_event"),
    (tasks.inspection, "record_inspection"),
    (tasks.announce, "record_announcement"),
    (tasks.sweep_all, "sweep"),
]


@pytest.fixture
def refusals(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, int], list[int]]:
    """Makes a function of the module fail so many times before it works; the list counts its calls."""
    monkeypatch.setattr(tasks, "_sleep", lambda _seconds: None)
    monkeypatch.setattr(tasks, "_database_answers", lambda: True)

    def refuse(name: str, times: int) -> list[int]:
        calls: list[int] = []

        def refusing(*_: object, **__: object) -> None:
            calls.append(len(calls))
            if len(calls) <= times:
                raise OperationalError("database is locked")

        monkeypatch.setattr(tasks, name, refusing)
        return calls

    return refuse


@pytest.mark.django_db
@pytest.mark.parametrize(("task", "function"), TASKS)
def test_a_locked_database_is_tried_again_in_place_so_that_events_stay_in_order(
    task: Any, function: str, refusals: Callable[[str, int], list[int]]
) -> None:
    calls = refusals(function, 3)
    task.apply(args=() if task is tasks.sweep_all else ({},), throw=True)
    assert len(calls) == 4


def test_what_a_database_that_answers_refuses_for_ten_minutes_is_given_up(
    refusals: Callable[[str, int], list[int]],
) -> None:
    calls = refusals("record_event", 1000)
    with pytest.raises(OperationalError):
        tasks.record.apply(args=({},), throw=True)
    assert len(calls) == tasks.REFUSALS


def test_a_worker_told_to_stop_while_the_database_is_away_gives_its_message_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker_state, "should_stop", 0)
    with pytest.raises(Reject) as rejected:
        tasks._sleep(1)
    assert vars(rejected.value)["requeue"]


def test_a_sweep_before_which_nobody_looked_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = tasks._Rounds()
    clock = iter([0.0, SWEEP_SECONDS, 2 * SWEEP_SECONDS, 4.5 * SWEEP_SECONDS, 5 * SWEEP_SECONDS])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    assert [rounds.is_after_a_pause() for _ in range(5)] == [True, False, False, True, False]


def test_the_sweep_is_due_every_ten_seconds_and_too_old_ones_are_dropped() -> None:
    entry = app.conf.beat_schedule["sweep"]
    assert entry["task"] in app.tasks
    assert entry["schedule"] == entry["options"]["expires"] == 10
