"""Logs of every process of a site in one form, with the ids that let one submission be followed.

What is bound by `structlog.contextvars` (`request`, `submission`, `attempt`) stands in each line. Celery
messages carry it on: who sends a task puts it into a header, who runs the task takes it out again, so
that the ids go from the web server to the runner and back without any function passing them.

`BACKPASS_LOG_FORMAT` is `json` or `text`; without it JSON in production, else text. `LOG_LEVEL` is a
level's name, INFO without it.
"""

from __future__ import annotations

import logging.config
import os
import re
from collections.abc import MutableMapping
from typing import Any

import structlog
from celery.signals import before_task_publish, setup_logging, task_postrun, task_prerun
from structlog.contextvars import bind_contextvars, clear_contextvars, get_contextvars

HEADER = "log_context"
CARRIED = ("request", "submission", "attempt")
_LONGEST_ID = 64

# Addresses with a secret in them.
_SECRETS = (
    (re.compile(r"(/accounts/(?:password/reset/key|confirm-email)/)[^\s/'\"]+"), r"\1…"),
    (re.compile(r"(://[^\s:/@]*:)[^\s@/]+@"), r"\1…@"),
)
# Celery prints messages that it cannot make sense of. In a job's are the lines of somebody's source.
_OF_MESSAGES = ("celery.worker", "kombu")
_MESSAGE = re.compile(r"(message (?:body|headers)[^:]*:|\bbody:|\bheaders[:=]).*", re.DOTALL)
# A terminal obeys these; line breaks and tabs are what tracebacks are made of.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def configuration() -> dict[str, Any]:
    """For `logging.config.dictConfig`, also Django's LOGGING and gunicorn's logconfig_dict."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "line": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": [
                    structlog.contextvars.merge_contextvars,
                    structlog.stdlib.add_logger_name,
                    structlog.stdlib.add_log_level,
                    structlog.stdlib.ExtraAdder(allow=_EXTRAS),
                    structlog.processors.TimeStamper(fmt="iso", utc=True),
                ],
                "processors": [
                    structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                    structlog.processors.format_exc_info,
                    without_secrets,
                    _renderer(),
                ],
            }
        },
        "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
        "root": {"handlers": ["console"], "level": os.environ.get("LOG_LEVEL") or "INFO"},
    }


_EXTRAS = ("method", "route", "status", "milliseconds", "user")


def _renderer() -> Any:
    production = os.environ.get("BACKPASS_PRODUCTION", "").lower() in ("1", "true", "yes", "on")
    if (os.environ.get("BACKPASS_LOG_FORMAT") or ("json" if production else "text")) == "json":
        return structlog.processors.JSONRenderer()
    return structlog.dev.ConsoleRenderer(colors=False, pad_event_to=0)


def without_secrets(
    _logger: Any, _method: str, line: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """The line without passwords, tokens, source code and what a terminal would obey."""
    for name, value in line.items():
        if isinstance(value, str):
            line[name] = _harmless(value)
    if str(line.get("logger")).startswith(_OF_MESSAGES):
        line["event"] = _MESSAGE.sub(r"\1 …", str(line.get("event")))
    return line


def _harmless(text: str) -> str:
    for pattern, instead in _SECRETS:
        text = pattern.sub(instead, text)
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def configure(**_: object) -> None:
    """Log in this form from now on. Also what Celery calls instead of setting up logs by itself."""
    logging.config.dictConfig(configuration())


def follow_celery() -> None:
    """Have every Celery process that imports the caller log in this form, ids carried by messages."""
    setup_logging.connect(configure, dispatch_uid="logs")
    before_task_publish.connect(_carry, dispatch_uid="logs")
    task_prerun.connect(_take_up, dispatch_uid="logs")
    task_postrun.connect(_put_down, dispatch_uid="logs")


def _carry(headers: Any = None, **_: object) -> None:
    context = get_contextvars()
    if isinstance(headers, dict):
        headers[HEADER] = {name: str(context[name]) for name in CARRIED if name in context}


def _take_up(task: Any = None, **_: object) -> None:
    clear_contextvars()
    carried = getattr(task.request, HEADER, None)
    if isinstance(carried, dict):
        bind_contextvars(
            **{
                name: value
                for name in CARRIED
                if isinstance(value := carried.get(name), str) and len(value) <= _LONGEST_ID
            }
        )


def _put_down(**_: object) -> None:
    clear_contextvars()
