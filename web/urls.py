"""Every address of the site."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path

from web.health import healthz, readyz
from web.observability.views import metrics

urlpatterns = [
    path("", include("web.catalogue.urls")),
    path("", include("web.lessons.urls")),
    path("", include("web.judging.urls")),
    path("", include("web.submissions.urls")),
    path("", include("web.inspection.urls")),
    path("", include("web.boards.urls")),
    path("", include("web.runners.urls")),
    path("accounts/", include("allauth.account.urls")),
    path("admin/", admin.site.urls),
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("metrics", metrics, name="metrics"),
]

# allauth answers with it.
handler429 = "web.limits.views.too_many_attempts"
