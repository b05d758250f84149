"""From the slug in an address to the problem."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect

from problems.registry import UnknownProblem, get_problem
from problems.spec import Problem

P = ParamSpec("P")


def problem_view(
    view: Callable[Concatenate[HttpRequest, Problem, P], HttpResponse],
) -> Callable[..., HttpResponse]:
    """Give the view the problem instead of the address's `slug`.

    An address has one form: underscores and capitals lead to the one with hyphens, for good.
    """

    @wraps(view)
    def with_problem(
        request: HttpRequest, slug: str, *args: P.args, **kwargs: P.kwargs
    ) -> HttpResponse:
        try:
            problem = get_problem(slug.lower())
        except UnknownProblem as error:
            raise Http404(str(error)) from None
        if slug != problem.url_slug and request.method in ("GET", "HEAD"):
            path = request.get_full_path().replace(f"/{slug}/", f"/{problem.url_slug}/", 1)
            return redirect(path, permanent=True)
        return view(request, problem, *args, **kwargs)

    return with_problem
