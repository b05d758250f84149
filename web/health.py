"""Whether this web server lives, and whether it can do all of its work: for containers and balancers.

`/healthz` is about the process alone, so that nobody restarts a web server because its database is away.
`/readyz` asks everything that the site needs. Neither tells more than which part does not answer.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from django.core.cache import cache
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from kombu.exceptions import ChannelError, KombuError
from redis.exceptions import RedisError

from web.celery import app

logger = logging.getLogger(__name__)

# However often it is asked, the servers behind the site are asked only once in so many seconds.
KEPT_SECONDS = 1.0


@require_safe
@never_cache
def healthz(_request: HttpRequest) -> JsonResponse:
    """200 and {"status": "ok"}: the process answers."""
    return JsonResponse({"status": "ok"})


@require_safe
@never_cache
def readyz(_request: HttpRequest) -> JsonResponse:
    """200 if everything the site needs answers, else 503.

    {"status": "ok" or "not ready", "database": "ok", "migrations": ..., "cache": ..., "broker": ...};
    each is "ok" or "failed". With the broker away pages work, and what is submitted is taken and waits.
    """
    answers = _answers()
    ready = all(answers.values())
    told = {name: "ok" if well else "failed" for name, well in answers.items()}
    body = {"status": "ok" if ready else "not ready", **told}
    return JsonResponse(body, status=200 if ready else 503)


class _Kept:
    """The last answers and when they were given; several requests at once make one ask."""

    lock = threading.Lock()
    at = float("-inf")
    answers: dict[str, bool]


def forget_answers() -> None:
    """Ask anew the next time."""
    _Kept.at = float("-inf")


def _answers() -> dict[str, bool]:
    with _Kept.lock:
        if time.monotonic() - _Kept.at > KEPT_SECONDS:
            _Kept.answers = {name: _holds(name, check) for name, check in CHECKS.items()}
            _Kept.at = time.monotonic()
        return _Kept.answers


def _holds(name: str, check: Callable[[], bool]) -> bool:
    try:
        holds = check()
    except (DatabaseError, RedisError, KombuError, ChannelError, OSError) as error:
        # The kind alone: the text of some has the address with its password.
        logger.warning("not ready: %s: %s", name, type(error).__name__)
        return False
    if not holds:
        logger.warning("not ready: %s", name)
    return holds


def _database() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        return bool(cursor.fetchone() == (1,))


def _migrations() -> bool:
    executor = MigrationExecutor(connection)
    return not executor.migration_plan(executor.loader.graph.leaf_nodes())


def _cache() -> bool:
    cache.get("readyz")  # whatever it holds: that it answers is enough
    return True


def _broker() -> bool:
    with app.connection_for_read() as broker:
        broker.ensure_connection(max_retries=1)
        return True


CHECKS: dict[str, Callable[[], bool]] = {
    "database": _database,
    "migrations": _migrations,
    "cache": _cache,
    "broker": _broker,
}
