"""The status page, and the line on a problem's page about hardware that is away."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from problems.spec import Problem
from web.catalogue.pages import language_choices
from web.catalogue.routing import problem_view
from web.runners.absence import absences, fingerprint
from web.runners.status import site_state


@require_safe
@never_cache
def status(request: HttpRequest) -> HttpResponse:
    """Runners, lines and waits, for everybody.

    Context: `site` (SiteState). To htmx only the part that changes; 204 if `?seen=` is how things stand.
    """
    site = site_state()
    if not getattr(request, "htmx", False):
        return render(request, "runners/status.html", {"site": site})
    if request.GET.get("seen") == site.fingerprint:
        return HttpResponse(status=204)
    return render(request, "runners/_state.html", {"site": site})


@require_safe
@never_cache
@problem_view
def absent_hardware(request: HttpRequest, problem: Problem) -> HttpResponse:
    """The fragment that says for which languages of a problem no runner is up; it asks for itself again.

    Context: `problem`, `absent` (Absence, ...). 204 if `?seen=` is how things stand.
    """
    told = absences(language_choices(problem))
    if request.GET.get("seen") == fingerprint(told):
        return HttpResponse(status=204)
    context = {"problem": problem, "absent": told, "absent_seen": fingerprint(told)}
    return render(request, "runners/_absent.html", context)
