"""The runner's task: what it says, and that neither a broker's absence nor its haste misleads it."""

from __future__ import annotations

from typing import Any

import pytest
from kombu.exceptions import ChannelError, OperationalError

from runner import tasks
from wire.messages import JUDGE_TASK, EventKind, JobMessage, Phase

JOB = JobMessage(
    attempt="6f1d3a52-3c0e-4f44-9d8e-3a6b5b2b3f10",
    problem="relu_squared",
    language="pytorch",
    hardware="cpu",
    mode="run",
    source="def backward(grad_output, x):\n    return x\n",
)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The events that the runner sends."""
    events: list[dict[str, Any]] = []

    def send_task(_name: str, args: list[dict[str, Any]], **_options: Any) -> None:
        events.append(args[0])

    monkeypatch.setattr(tasks.app, "send_task", send_task)
    return events


@pytest.mark.parametrize(
    "error",
    [
        OperationalError("no route to host"),
        ChannelError("cannot write a message: No space left on device"),
        ConnectionRefusedError("refused"),
        TimeoutError("frozen"),
    ],
)
def test_news_that_the_broker_does_not_take_are_no_failure_of_judging(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def refuse(*_arguments: Any, **_options: Any) -> None:
        raise error

    monkeypatch.setattr(tasks.app, "send_task", refuse)
    reporter = tasks.Reporter(JOB.attempt)
    reporter.progress(Phase.CASES, 1, 2)
    assert not reporter.send(EventKind.BEAT)


def test_a_job_that_comes_a_second_time_is_not_judged_and_the_web_is_told(
    sent: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def judge(*_: Any) -> None:
        raise AssertionError("it was judged")

    monkeypatch.setattr(tasks, "judge", judge)
    task = tasks.app.tasks[JUDGE_TASK]
    task.push_request(delivery_info={"redelivered": True})
    try:
        task.run(JOB.to_json())
    finally:
        task.pop_request()
    assert [(event["attempt"], event["kind"]) for event in sent] == [(JOB.attempt, "returned")]


def test_events_are_numbered_on_from_one_process_to_the_next(sent: list[dict[str, Any]]) -> None:
    for _ in range(2):
        reporter = tasks.Reporter(JOB.attempt)
        reporter.send(EventKind.BEAT)
        reporter.send(EventKind.BEAT)
    numbers = [event["seq"] for event in sent]
    assert numbers == sorted(set(numbers))


def test_the_task_is_acknowledged_when_it_is_over_and_given_back_by_a_process_that_dies() -> None:
    task = tasks.app.tasks[JUDGE_TASK]
    assert task.acks_late
    assert task.reject_on_worker_lost
