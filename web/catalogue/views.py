"""The catalogue, a problem's page and its reference solutions."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from problems.spec import Problem
from web.boards.queries import own_standings
from web.catalogue.listing import Search, choices, found
from web.catalogue.pages import (
    language_choices,
    panes,
    reference_solutions,
    solution_notes,
)
from web.catalogue.queries import figures, solved_by
from web.catalogue.roofline import MACHINES, RANKED
from web.catalogue.roofline_page import drawn_roofline
from web.catalogue.routing import problem_view
from web.lessons.declared import lessons_for
from web.runners.absence import absences, fingerprint
from web.submissions.owners import Owner, visible_submission

LATEST = 5


@dataclass(frozen=True)
class Draft:
    """What the editor begins with instead of the starter, and why the last post was refused."""

    source: str = ""
    language: str = ""
    message: str = ""


@require_safe
def catalogue(request: HttpRequest) -> HttpResponse:
    """The problems by tier, all or those that the query asks for; the list alone for htmx.

    Context: `search` (Search); `choices` (Choices); `tiers` (TierOfCards, ...); `shown` and `all`,
    numbers of problems.
    """
    search = Search.of(request.GET)
    solved = solved_by(request.user) if request.user.is_authenticated else set()
    offered = choices()
    tiers = found(search, figures(), solved)
    context = {
        "search": search,
        "choices": offered,
        "tiers": tiers,
        "shown": sum(len(tier.cards) for tier in tiers),
        "all": offered.problems,
    }
    live = request.headers.get("HX-Request") and not request.headers.get(
        "HX-History-Restore-Request"
    )
    page = "catalogue/_problems.html" if live else "catalogue/catalogue.html"
    response = render(request, page, context)
    patch_vary_headers(response, ["HX-Request"])
    if live:
        response["HX-Replace-Url"] = reverse("catalogue") + search.query
    return response


@require_safe
@problem_view
def problem(request: HttpRequest, problem: Problem) -> HttpResponse:
    """A problem and the editor. `?submission=<uuid>` puts that submission's source in the editor.

    Context: see `problem_page`.
    """
    draft = Draft()
    if wanted := request.GET.get("submission"):
        try:
            earlier = visible_submission(request, uuid.UUID(wanted))
        except ValueError:
            raise Http404("That is no submission's id.") from None
        draft = Draft(source=earlier.source, language=earlier.language)
    return problem_page(request, problem, draft)


def problem_page(
    request: HttpRequest, problem: Problem, draft: Draft, status: int = 200
) -> HttpResponse:
    """The whole page of a problem, also when a post without JavaScript was refused.

    Context: `problem`; `panes` (HTML of the statement, derivation, hints and cases), `hints` (whether
    there are any); `lessons` (Lesson, ...) that lead here;
    `languages` (LanguageChoice, ...) and `starters` ({language: source}); `draft` (Draft), its
    `language` always set; `public_cases` and `hidden_cases` (their numbers); `latest` (own
    Submission, newest first); `best` (own Standing, one for each hardware); `idempotency_key` (for the
    form); `next_url` (to come back after login);
    `absent` (Absence, ...), `absent_seen` (its fingerprint).
    """
    languages = language_choices(problem)
    names = [choice.name for choice in languages]
    if draft.language not in names:
        draft = Draft(draft.source, names[0] if names else "", draft.message)
    told = absences(languages)
    latest = Owner.of(request).submissions().filter(problem=problem.slug).defer("source", "report")
    context: dict[str, Any] = {
        "problem": problem,
        "panes": panes(problem.slug),
        "hints": bool(problem.text["hints"]),
        "lessons": lessons_for(problem),
        "languages": languages,
        "starters": {choice.name: choice.starter for choice in languages},
        "draft": draft,
        "public_cases": sum(case.public for case in problem.cases),
        "hidden_cases": sum(not case.public for case in problem.cases),
        "latest": latest[:LATEST],
        "best": own_standings(problem, request.user) if request.user.is_authenticated else [],
        "absent": told,
        "absent_seen": fingerprint(told),
        "idempotency_key": uuid.uuid4().hex,
        "next_url": reverse("problem", args=[problem.url_slug]),
    }
    return render(request, "catalogue/problem.html", context, status=status)


@require_safe
@problem_view
def roofline_plot(request: HttpRequest, problem: Problem) -> HttpResponse:
    """The roofline of a problem on `?on=<machine>`; the plot alone for htmx.

    Context: `problem`; `drawn` (HTML).
    """
    machine = MACHINES.get(request.GET.get("on", RANKED))
    if machine is None:
        raise Http404("There is no roofline of such a machine.")
    user = request.user if request.user.is_authenticated else None
    drawn = drawn_roofline(problem, machine, user)
    if request.headers.get("HX-Request"):
        response = HttpResponse(drawn)
    else:
        response = render(request, "catalogue/roofline.html", {"problem": problem, "drawn": drawn})
    patch_vary_headers(response, ["HX-Request", "Cookie"])
    return response


@require_safe
@problem_view
def solutions(request: HttpRequest, problem: Problem) -> HttpResponse:
    """Reference kernels beside the notes on them.

    Context: `problem`; `solutions` (Solution, ...); `notes` (HTML or None).
    """
    context = {
        "problem": problem,
        "solutions": reference_solutions(problem.slug),
        "notes": solution_notes(problem.slug),
    }
    return render(request, "catalogue/solutions.html", context)
