"""The list of lessons, a lesson, and its code as a file."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from web.lessons.declared import LESSONS, Lesson, UnknownLesson, get_lesson
from web.lessons.reading import parts, program


@require_safe
def lessons(request: HttpRequest) -> HttpResponse:
    """Every lesson with its summary.

    Context: `lessons` (Lesson, ...).
    """
    return render(request, "lessons/lessons.html", {"lessons": LESSONS})


@require_safe
def lesson(request: HttpRequest, slug: str) -> HttpResponse:
    """One lesson.

    Context: `lesson`; `parts` (Part, ...); `next_lesson` (Lesson or None).
    """
    found = _lesson_or_404(slug)
    after = LESSONS[LESSONS.index(found) + 1 :]
    context = {"lesson": found, "parts": parts(found), "next_lesson": after[0] if after else None}
    return render(request, "lessons/lesson.html", context)


@require_safe
def code(_request: HttpRequest, slug: str) -> HttpResponse:
    """The lesson's code as one Python file, to be read or saved."""
    return HttpResponse(program(_lesson_or_404(slug)), content_type="text/plain; charset=utf-8")


def _lesson_or_404(slug: str) -> Lesson:
    try:
        return get_lesson(slug)
    except UnknownLesson as error:
        raise Http404(str(error)) from None
