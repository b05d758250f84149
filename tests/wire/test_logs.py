"""The form of the logs: ids in every line, no secrets, nothing that a terminal obeys."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable
from typing import Any

import pytest
from celery import Celery
from celery.app.trace import trace_task
from celery.worker.consumer import consumer as celery_consumer
from structlog.contextvars import (
    bind_contextvars,
    bound_contextvars,
    clear_contextvars,
    get_contextvars,
)

from wire import logs

Write = Callable[..., str]
consumer: Any = celery_consumer  # its messages are not in the stubs


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Write:
    """What one call of a logger writes in the form asked for."""

    def write(form: str, *arguments: Any, name: str = "web.test", **options: Any) -> str:
        monkeypatch.setenv("BACKPASS_LOG_FORMAT", form)
        settings = logs.configuration()["formatters"]["line"]
        formatter = settings.pop("()")(**settings)
        stream = io.StringIO()
        handler = logging.StreamHandler(stream)
        handler.setFormatter(formatter)
        logger = logging.Logger(name)
        logger.addHandler(handler)
        logger.error(*arguments, **options)
        return stream.getvalue()

    clear_contextvars()
    return write


def test_a_line_of_json_has_ids_and_everything_else_by_name(written: Write):
    with bound_contextvars(submission="s-1", attempt="a-1"):
        line = json.loads(written("json", "verdict: %s", "accepted", extra={"status": 200}))
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "event": "verdict: accepted",
        "level": "error",
        "logger": "web.test",
        "submission": "s-1",
        "attempt": "a-1",
        "status": 200,
    }


def test_a_line_of_text_is_one_line_that_people_read(written: Write):
    with bound_contextvars(submission="s-1"):
        line = written("text", "verdict: %s", "accepted")
    assert line.count("\n") == 1
    for told in ("verdict: accepted", "submission=s-1", "[error", "web.test"):
        assert told in line


@pytest.mark.parametrize("form", ["json", "text"])
def test_a_traceback_is_there_without_the_values_of_variables(written: Write, form: str):
    try:
        hidden = "hunter2"
        raise ValueError(len(hidden))
    except ValueError:
        line = written(form, "it failed", exc_info=True)
    assert "ValueError: 7" in line
    assert "test_logs.py" in line
    assert "hunter2" not in line.replace('hidden = "hunter2"', "").replace(
        'hidden = \\"hunter2\\"', ""
    )


@pytest.mark.parametrize("form", ["json", "text"])
@pytest.mark.parametrize(
    "text",
    [
        "Internal Server Error: /accounts/password/reset/key/1-SECRET/",
        "Not Found: /accounts/confirm-email/SECRET/",
        "cannot connect to redis://user:SECRET@broker:6379/0",
    ],
)
def test_secrets_do_not_get_into_logs(written: Write, form: str, text: str):
    line = written(form, text)
    assert "SECRET" not in line
    assert "…" in line or "\\u2026" in line


_REPORT = consumer.MESSAGE_REPORT.format("SECRET", "type", "encoding", "info", {"h": "SECRET"})


@pytest.mark.parametrize(
    "text",
    [
        consumer.UNKNOWN_FORMAT % _REPORT,
        consumer.UNKNOWN_TASK_ERROR % ("a task", "SECRET\nSECRET", "SECRET", "SECRET"),
        consumer.INVALID_TASK_ERROR % ("an error", "SECRET"),
        consumer.MESSAGE_DECODE_ERROR % ("an error", "type", "encoding", "SECRET", "SECRET"),
    ],
)
def test_a_message_that_celery_cannot_read_is_not_shown(written: Write, text: str):
    line = written("json", text, name="celery.worker.consumer.consumer")
    assert "SECRET" not in line
    assert json.loads(line)["event"][:20] == text[:20]


@pytest.mark.parametrize("form", ["json", "text"])
def test_a_terminal_has_nothing_to_obey(written: Write, form: str):
    line = written(form, "name: %s", "\x1b[2Jgone\x07 \u202etxt.exe")
    assert not any(sign in line for sign in ("\x1b", "\\u001b", "\x07", "\u202e", "\\u202e"))


@pytest.mark.parametrize(
    ("variables", "is_json"),
    [
        ({}, False),
        ({"BACKPASS_PRODUCTION": "1"}, True),
        ({"BACKPASS_PRODUCTION": "0"}, False),
        ({"BACKPASS_PRODUCTION": "1", "BACKPASS_LOG_FORMAT": "text"}, False),
        ({"BACKPASS_LOG_FORMAT": "json"}, True),
    ],
)
def test_production_logs_json_unless_told(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], is_json: bool
):
    for name in ("BACKPASS_PRODUCTION", "BACKPASS_LOG_FORMAT"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    renderer = logs.configuration()["formatters"]["line"]["processors"][-1]
    assert (type(renderer).__name__ == "JSONRenderer") == is_json


# --- What a message carries on


@pytest.fixture
def carried() -> Callable[[dict[str, Any]], dict[str, Any]]:
    """The context inside of a task whose message was sent under the given one."""
    logs.follow_celery()
    app = Celery("test", broker="memory://", set_as_current=False)
    seen: dict[str, Any] = {}

    @app.task(name="look")
    def look() -> None:
        seen.update(get_contextvars())

    def send(context: dict[str, Any]) -> dict[str, Any]:
        seen.clear()
        with app.connection_for_write() as connection:
            queue = app.amqp.queues["celery"](connection.default_channel)
            queue.declare()
            clear_contextvars()
            bind_contextvars(**context)
            app.send_task("look", connection=connection)
            message: Any = queue.get(no_ack=True)
        clear_contextvars()
        trace_task(look, "some-id", (), {}, request=message.headers, app=app)
        return dict(seen)

    return send


def test_ids_go_on_with_a_message_and_nothing_else_does(carried: Any):
    sent = {"submission": "s-1", "attempt": "a-1", "request": "r-1", "user": "alice"}
    assert carried(sent) == {"submission": "s-1", "attempt": "a-1", "request": "r-1"}
    assert carried({}) == {}


def test_of_a_strange_header_only_short_texts_are_taken():
    class Task:
        class Request:
            log_context: Any = None

        request = Request()

    for strange in (None, "text", ["submission"], {"submission": 7}, {"submission": "x" * 65}):
        Task.request.log_context = strange
        logs._take_up(task=Task)
        assert get_contextvars() == {}
