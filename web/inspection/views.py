"""The inside of a submission, beside its source; and two submissions compared."""

from __future__ import annotations

import uuid
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from problems.registry import UnknownProblem, get_problem
from web.inspection.choice import Choice, chosen
from web.inspection.comparison import MOST_LINES, comparable, difference, pairs
from web.inspection.figures import kernels_of
from web.inspection.listing import listing
from web.inspection.queries import (
    earlier_of_owner,
    inside_of,
    others_of_owner,
    whole_inspection,
)
from web.submissions.models import Submission
from web.submissions.owners import visible_submission
from wire.inspection import Inspection, Stage

SOURCE = "source"


@require_safe
@never_cache
def figures(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    """The fragment with the figures, for a page that waits for them; 204 while there is nothing new."""
    submission = visible_submission(request, pk)
    found = inside_of(submission)
    if found.state == "waiting":
        return HttpResponse(status=204)
    context = {"submission": submission, "inside": found}
    return render(request, "inspection/_section.html", context)


@require_safe
@never_cache
def inside(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    """Source and one form it compiles to, linked line by line.

    `?kernel=`, `?target=`, `?stage=` choose, `?q=` searches the form's text. Context: `submission`,
    `title`, `inspection`, `kernels` (KernelFigures, ...), `choice` (Choice), `listing` (Listing, or None
    where the kernel did not compile), `earlier` (Submission, ... to compare with).
    """
    submission = visible_submission(request, pk)
    inspection = _inspection_of(submission)
    choice = chosen(inspection, request.GET)
    context = {
        **_common(submission, inspection, choice),
        "listing": listing(submission.source, choice.text, choice.query) if choice.text else None,
        "earlier": earlier_of_owner(submission),
    }
    return render(request, "inspection/inside.html", context)


@require_safe
@never_cache
def compare(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    """The same kernel of an earlier submission, `?with=<uuid>`, and of this one.

    Context: as of `inside` without listing; `other` (Submission), `other_key`
    (its id as text), `pairs` (see `comparison.pairs`),
    `rows` (DiffRow, ...), `whole` (whether all of it was compared), `missing` (the other submission has
    no such kernel, or not in this form).
    """
    submission = visible_submission(request, pk)
    other = _other(request, submission)
    inspection, before = _inspection_of(submission), _inspection_of(other)
    choice = chosen(inspection, request.GET, also=(SOURCE,))
    there = next((k for k in kernels_of(before) if k.key == choice.figures.key), None)
    row = there.on(choice.target) if there else None
    old, new = (row.stages.get(choice.stage) if row else None), choice.text
    if choice.stage == SOURCE:
        old, new = _source(other), _source(submission)
    rows, whole = difference(comparable(old), comparable(new)) if old and new else ([], True)
    context = {
        **_common(submission, inspection, choice),
        "other": other,
        "other_key": str(other.pk),
        "pairs": pairs(there, choice.figures) if there else [],
        "rows": rows,
        "whole": whole,
        "most_lines": MOST_LINES,
        "missing": not (old and new),
        "earlier": earlier_of_owner(submission),
    }
    return render(request, "inspection/compare.html", context)


def _common(submission: Submission, inspection: Inspection, choice: Choice) -> dict[str, Any]:
    return {
        "submission": submission,
        "title": _title(submission.problem),
        "inspection": inspection,
        "kernels": kernels_of(inspection),
        "choice": choice,
    }


def _title(slug: str) -> str:
    try:
        return get_problem(slug).title
    except UnknownProblem:
        return slug


def _source(submission: Submission) -> Stage:
    return Stage(submission.source, ())


def _inspection_of(submission: Submission) -> Inspection:
    inspection = whole_inspection(submission)
    if inspection is None or not inspection.kernels:
        raise Http404("Nothing is known of what this submission compiles to.")
    return inspection


def _other(request: HttpRequest, submission: Submission) -> Submission:
    try:
        wanted = uuid.UUID(request.GET.get("with", ""))
    except ValueError:
        raise Http404("Say which submission to compare with.") from None
    return get_object_or_404(others_of_owner(submission).defer(None), pk=wanted)
