"""The settings that web and runners share: as Celery's documentation recommends for long jobs."""

from __future__ import annotations

from typing import Any

import pytest

from wire.broker import (
    ANSWER_SECONDS,
    HARD_TIME_LIMIT,
    SOFT_TIME_LIMIT,
    VISIBILITY_TIMEOUT,
    celery_settings,
)


@pytest.fixture(params=["redis", "files"])
def settings(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> dict[str, Any]:
    monkeypatch.setenv("BACKPASS_DATA", str(tmp_path))
    monkeypatch.setenv("REDIS_URL", "redis://broker:6379/0" if request.param == "redis" else "")
    return celery_settings()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("task_acks_late", True),
        ("task_reject_on_worker_lost", True),
        ("worker_prefetch_multiplier", 1),
        ("task_serializer", "json"),
        ("accept_content", ["json"]),
        ("task_ignore_result", True),
        ("broker_connection_retry", True),
        ("broker_connection_retry_on_startup", True),
        ("broker_connection_max_retries", None),
        ("worker_cancel_long_running_tasks_on_connection_loss", False),
    ],
)
def test_a_long_job_is_one_at_a_time_and_acknowledged_when_done(
    settings: dict[str, Any], name: str, value: Any
) -> None:
    assert settings[name] == value


def test_no_job_is_given_to_a_second_runner_while_the_first_may_still_work_on_it() -> None:
    assert SOFT_TIME_LIMIT < HARD_TIME_LIMIT < VISIBILITY_TIMEOUT


def test_a_redis_that_does_not_answer_is_noticed_and_one_that_waits_for_messages_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("REDIS_URL", "redis://broker:6379/0")
    options = celery_settings()["broker_transport_options"]
    assert options["visibility_timeout"] == VISIBILITY_TIMEOUT
    # Kombu's workers ask Redis to answer after a second, message or none.
    assert 1 < options["socket_timeout"] == options["socket_connect_timeout"] == ANSWER_SECONDS
