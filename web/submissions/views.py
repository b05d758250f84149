"""Posting a submission and following it to its verdict."""

from __future__ import annotations

import uuid
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe
from django_htmx.http import reswap, retarget

from problems.registry import UnknownProblem, get_problem
from problems.spec import Problem
from web.catalogue.pages import language_choices
from web.catalogue.routing import problem_view
from web.catalogue.views import Draft, problem_page
from web.limits.rates import client_network
from web.submissions.intake import Posted, Refused, TooMany, refuse_stranger
from web.submissions.intake import submit as take_in
from web.submissions.models import Submission
from web.submissions.owners import Owner, visible_submission
from web.submissions.queries import progress_of, report_of

PAGE_SIZE = 50


@require_http_methods(["GET", "HEAD", "POST"])
@problem_view
def submit(request: HttpRequest, problem: Problem) -> HttpResponse:
    """Post a source. Fields: `source`, `language`, `mode` (run or submit), `idempotency_key`.

    The key names one press of a button; the same key with the same content makes no second
    submission. To htmx: the status fragment, with a fresh key for the form's `#idempotency-key`
    swapped in besides. Without JavaScript: a redirect to the submission's page. Refused: 422, or 429
    with Retry-After if waiting helps; to htmx `submissions/_refused.html` with `message`, for the
    place beside the buttons; else the problem's page with the source as posted.
    """
    if request.method != "POST":
        return redirect("problem", slug=problem.url_slug)
    posted = Posted(
        problem=problem.slug,
        problem_version=problem.version,
        languages=tuple(choice.name for choice in language_choices(problem)),
        language=request.POST.get("language", ""),
        mode=request.POST.get("mode", ""),
        source=request.POST.get("source", "").replace("\r\n", "\n"),
        idempotency_key=request.POST.get("idempotency_key", ""),
    )
    try:
        network = client_network(request)
        refuse_stranger(Owner.of(request), posted, network)
        submission = take_in(Owner.remembered(request), posted, network)
    except Refused as refusal:
        return _refused(request, problem, posted, refusal)
    if getattr(request, "htmx", False):
        context = {**status_context(submission), "idempotency_key": uuid.uuid4().hex}
        return render(request, "submissions/_posted.html", context)
    return redirect(submission)


def _refused(
    request: HttpRequest, problem: Problem, posted: Posted, refusal: Refused
) -> HttpResponse:
    status = 429 if isinstance(refusal, TooMany) else 422
    if getattr(request, "htmx", False):
        context = {"message": str(refusal)}
        fragment = render(request, "submissions/_refused.html", context, status=status)
        response = reswap(retarget(fragment, "#refusal"), "outerHTML")
    else:
        draft = Draft(posted.source, posted.language, str(refusal))
        response = problem_page(request, problem, draft, status=status)
    if isinstance(refusal, TooMany):
        response["Retry-After"] = str(refusal.wait)
    return response


def status_context(submission: Submission) -> dict[str, Any]:
    """Context of `submissions/_status.html`: `submission`, `progress` (Progress), `report` (or None)."""
    return {
        "submission": submission,
        "progress": progress_of(submission),
        "report": report_of(submission),
    }


@require_safe
@never_cache
def status(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    """The fragment that replaces itself until there is a verdict.

    `?seen=` is the fingerprint the page has; 204 if that is still how things stand.
    """
    submission = visible_submission(request, pk)
    context = status_context(submission)
    if request.GET.get("seen") == context["progress"].fingerprint:
        return HttpResponse(status=204)
    return render(request, "submissions/_status.html", context)


@require_safe
@never_cache
def submission(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    """A submission's own page: source, status, verdict.

    Context: as `status_context`, and `problem` (None if it is no longer in the catalogue).
    """
    found = visible_submission(request, pk)
    context = {**status_context(found), "problem": _problem_of(found)}
    return render(request, "submissions/submission.html", context)


def _problem_of(submission: Submission) -> Problem | None:
    try:
        return get_problem(submission.problem)
    except UnknownProblem:
        return None


@require_safe
@never_cache
def my_submissions(request: HttpRequest) -> HttpResponse:
    """What the user, or this browser without an account, has posted; newest first.

    Context: `page`, a paginator's page of Submission without source and report.
    """
    own = Owner.of(request).submissions().defer("source", "report")
    page = Paginator(own, PAGE_SIZE).get_page(request.GET.get("page"))
    return render(request, "submissions/my_submissions.html", {"page": page})
