"""How long requests take, and one line in the log for each. Neither has an address as it was asked for:
it may hold a token. What is told is the route and, where it is about one, the submission."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponseBase
from prometheus_client import Histogram
from structlog.contextvars import bind_contextvars, clear_contextvars

logger = logging.getLogger(__name__)

REQUEST_SECONDS = Histogram(
    "backpass_http_request_seconds",
    "What a web server spent on requests, by route",
    ("method", "route", "status"),
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)
_METHODS = frozenset({"GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE"})
# Asked every few seconds by machines: in the log only when something is wrong.
_POLLED = frozenset({"healthz", "readyz", "metrics", "submission_status"})


class RequestLog:
    """Middleware: binds the request's id to every line logged meanwhile."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        began = time.perf_counter()
        clear_contextvars()
        bind_contextvars(request=uuid.uuid4().hex)
        try:
            response = self._get_response(request)
            self._tell(request, response.status_code, time.perf_counter() - began)
            return response
        finally:
            clear_contextvars()

    def process_view(
        self, request: HttpRequest, _view: Any, _arguments: Any, named: dict[str, Any]
    ) -> None:
        """A page about a submission names it in everything that is logged."""
        match = request.resolver_match
        if match and match.route.startswith("submissions/") and "pk" in named:
            bind_contextvars(submission=str(named["pk"]))

    def _tell(self, request: HttpRequest, status: int, seconds: float) -> None:
        match = request.resolver_match
        route = match.route if match else "none"
        method = request.method if request.method in _METHODS else "other"
        REQUEST_SECONDS.labels(method, route, str(status)).observe(seconds)
        polled = match is not None and match.url_name in _POLLED and status < 400
        logger.log(
            logging.DEBUG if polled else logging.INFO,
            "request",
            extra={
                "method": method,
                "route": route,
                "status": status,
                "milliseconds": round(1000 * seconds, 1),
            },
        )
