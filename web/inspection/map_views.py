"""Pages with access maps: of a submission, and of a reference solution."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from problems.registry import UnknownProblem, get_problem
from problems.spec import Problem
from web.catalogue.pages import reference_solutions
from web.catalogue.routing import problem_view
from web.inspection.access import data, picked, picture
from web.inspection.listing import split
from web.inspection.queries import whole_inspection
from web.inspection.references import reference_maps
from web.submissions.owners import visible_submission
from wire.access_maps import AccessMaps, TileMap

MOST_LINES_OF_STATEMENT = 8
LONGEST_STATEMENT = 300


@dataclass(frozen=True)
class Origin:
    """Whose map it is: where it is read about, and its `source`. `lines_at` is the address of a page on
    which a line has the anchor `#L<number>`; "" where there is none."""

    title: str
    name: str
    address: str
    source: str
    lines_at: str = ""


@require_safe
@never_cache
def inside_map(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    """What each program of a submission's launches touched. Context: see `_page`."""
    submission = visible_submission(request, pk)
    inspection = whole_inspection(submission)
    if inspection is None or inspection.maps is None:
        raise Http404("Nothing is known of what this submission's programs touch.")
    try:
        title = get_problem(submission.problem).title
    except UnknownProblem:
        title = submission.problem
    origin = Origin(
        title=title,
        name=f"submission of {submission.created_at:%Y-%m-%d %H:%M}",
        address=submission.get_absolute_url(),
        source=submission.source,
        lines_at=reverse("inside", args=[pk]) if inspection.kernels else "",
    )
    return _page(request, origin, inspection.maps)


@require_safe
@problem_view
def reference_map(request: HttpRequest, problem: Problem, file: str) -> HttpResponse:
    """What each program of a reference solution's launches touched. Context: see `_page`."""
    for solution in reference_solutions(problem.slug):
        if solution.path.endswith(f"/{file}.py") and (maps := reference_maps(solution)):
            address = reverse("solutions", args=[problem.url_slug])
            origin = Origin(problem.title, solution.label, address, solution.source)
            return _page(request, origin, maps)
    raise Http404("There is no access map of such a solution.")


def _page(request: HttpRequest, origin: Origin, maps: AccessMaps) -> HttpResponse:
    """Context: `origin` (Origin), `maps` (AccessMaps), `pick` (Pick), `picture` (Picture), `lines`
    ((number, text), ...) of the source that made the access, `data` (for the script)."""
    pick = picked(maps, request.GET)
    context = {
        "origin": origin,
        "maps": maps,
        "pick": pick,
        "picture": picture(pick),
        "lines": _lines(pick.map, origin.source),
        "data": data(pick),
    }
    return render(request, "inspection/map.html", context)


def _lines(one: TileMap, source: str) -> list[tuple[int, str]]:
    texts = split(source)
    return [(line, _statement(texts[line - 1 :])) for line in one.lines if line <= len(texts)]


def _statement(texts: Sequence[str]) -> str:
    """The first line, with those after it until its brackets are closed."""
    text = ""
    for number in range(1, MOST_LINES_OF_STATEMENT + 1):
        text = " ".join(line.strip() for line in texts[:number])
        if sum(map(text.count, "([{")) <= sum(map(text.count, ")]}")):
            break
    return text[:LONGEST_STATEMENT]
