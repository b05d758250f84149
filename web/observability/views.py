"""`/metrics`, for those who know the token."""

from __future__ import annotations

import os

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from web.observability.collector import SiteCollector


@require_safe
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """Every metric as Prometheus reads it.

    Needs `Authorization: Bearer <METRICS_TOKEN>`. An address of the asker would prove nothing: behind a
    proxy everybody has the proxy's. Without a token in the settings there are no metrics.
    """
    token: str = settings.METRICS_TOKEN
    if not token:
        raise Http404("This site tells no metrics.")
    if not constant_time_compare(request.headers.get("Authorization", ""), f"Bearer {token}"):
        return HttpResponse(
            "Send the header Authorization: Bearer <METRICS_TOKEN>.\n",
            status=401,
            content_type="text/plain; charset=utf-8",
            headers={"WWW-Authenticate": "Bearer"},
        )
    site = CollectorRegistry()
    site.register(SiteCollector())
    return HttpResponse(
        generate_latest(site) + generate_latest(_of_web_servers()), content_type=CONTENT_TYPE_LATEST
    )


def _of_web_servers() -> CollectorRegistry:
    """What the processes of this web server measured: all of them if they share a folder for it."""
    if not os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        return REGISTRY
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]  # a library's, without types
    return registry
