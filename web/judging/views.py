"""The page on judging."""

from __future__ import annotations

from pathlib import Path

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from web.catalogue.markup import render_parts

TEXT = Path(__file__).parent / "judging.md"


@require_safe
def judging(request: HttpRequest) -> HttpResponse:
    """How correctness and time are judged, and what the judge cannot promise.

    Context: `parts` ((heading, HTML), ...).
    """
    parts = render_parts(TEXT.read_text(encoding="utf-8"))
    return render(request, "judging/judging.html", {"parts": parts})
