"""What `benchmarks.load` serves: our site, and below the same middleware a view that does nothing."""

from django.http import HttpRequest, HttpResponse
from django.urls import include, path


def bare(_request: HttpRequest) -> HttpResponse:
    """The least that a Django view can do."""
    return HttpResponse("ok")


urlpatterns = [path("bare", bare), path("", include("web.urls"))]
