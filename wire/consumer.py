"""Celery's consumer, which a message of any form whatever leaves alive.

A message in which Celery itself stumbles (a body that is no triple, a header of another type than it
expects) ends the worker, comes back to the next one and ends that too; or it leaves a place in the pool
taken for ever. So what a message is made of is looked at before Celery acts on it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from celery.utils.log import get_logger
from celery.worker import consumer
from kombu.exceptions import ContentDisallowed, DecodeError

logger = get_logger(__name__)
_TEXT = (str,)
_MAYBE_TEXT = (str, type(None))
_HEADERS: Mapping[str, tuple[type, ...]] = {
    "task": _TEXT,
    "id": _TEXT,
    "eta": _MAYBE_TEXT,
    "expires": _MAYBE_TEXT,
    "shadow": _MAYBE_TEXT,
    "root_id": _MAYBE_TEXT,
    "parent_id": _MAYBE_TEXT,
    "group": _MAYBE_TEXT,
    "retries": (int, type(None)),
    "ignore_result": (bool, type(None)),
}
_NUMBER = (int, float, type(None))
# Stamps, and what is to follow a task, are never used here.
_UNUSED_HEADERS = ("stamped_headers", "stamps", "chord", "reply_to")


class Consumer(consumer.Consumer):
    """Refuses messages of a form that nobody here sends, and goes on."""

    def create_task_handler(self, *args: Any, **kwargs: Any) -> Callable[[Any], Any]:
        """Celery's handler of a received message, for messages of a form that it understands."""
        handle = super().create_task_handler(*args, **kwargs)

        def on_task_received(message: Any) -> Any:
            if reason := objection(message):
                logger.error("refused a message: %s", reason)
                return self.on_decode_error(message, ValueError(reason))
            return handle(message)

        return on_task_received


def objection(message: Any) -> str:
    """What is wrong with the form of `message`, empty if nothing is, or if Celery says it better."""
    headers = message.headers
    if not isinstance(headers, dict) or "task" not in headers or "id" not in headers:
        return "its headers name no task and id"
    for name, types in _HEADERS.items():
        if name in headers and type(headers[name]) not in types:
            return f"its header {name} is of type {type(headers[name]).__name__}"
    limits = headers.get("timelimit")
    if limits is not None and not (_is_pair(limits) and all(type(v) in _NUMBER for v in limits)):
        return "its header timelimit is no pair of seconds"
    if used := [name for name in _UNUSED_HEADERS if headers.get(name)]:
        return f"its header {used[0]} is not used here"
    try:
        payload = message.payload
    except (ContentDisallowed, DecodeError):
        return ""
    return _objection_to_body(payload)


def _is_pair(value: object) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2


def _objection_to_body(body: object) -> str:
    if not isinstance(body, list | tuple) or len(body) != 3:
        return "its body is no triple"
    args, kwargs, embedded = body
    if not isinstance(args, list | tuple) or not isinstance(kwargs, dict):
        return "its body has no arguments"
    if embedded is not None and (not isinstance(embedded, dict) or any(embedded.values())):
        return "its body asks for tasks to follow"
    return ""
