"""The leaderboard of a problem."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.contrib.messages.storage.cookie import CookieStorage
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import get_conditional_response, patch_vary_headers
from django.utils.http import quote_etag
from django.views.decorators.http import require_safe

from problems.spec import Problem
from web.boards.drawing import PAGE_SIZE, BoardKey, Row, draw, rows, size
from web.boards.freshness import version_of
from web.boards.models import Standing
from web.boards.queries import own_in_order, own_rank
from web.boards.shelf import Shelf
from web.catalogue.routing import problem_view
from web.hardware import HardwareKind, all_hardware, get_kind
from wire.inspection import RANKED_GPU

_LONGEST_ADDRESS = 200


@require_safe
@problem_view
def leaderboard(request: HttpRequest, problem: Problem) -> HttpResponse:
    """Who stands where. `?hardware=` picks the board, `?order=` its order, `?page=` the page.

    Context: `problem`; `kind` (HardwareKind shown) and `kinds` (all); `benchmarks` (the columns);
    `ranked_gpu` (the GPU of modelled times); `order`, and `orders` to choose from, if there are any;
    `rows` (Row, ...); `page` (a paginator's page); `own` (the user's Row, or None) and
    `own_on_page` (whether `rows` has it).
    """
    kind = _chosen_kind(request.GET.get("hardware", ""))
    version = version_of(problem.slug, kind.name)
    order = _chosen_order(problem, request.GET.get("order", ""))
    key = BoardKey(problem.slug, problem.version, kind.name, version, order)
    if version is None or not _is_anybody(request):
        response = render(request, "boards/leaderboard.html", _context(request, problem, key))
        patch_vary_headers(response, ["Cookie"])
        return response
    return _for_anybody(request, problem, key)


def _is_anybody(request: HttpRequest) -> bool:
    """Somebody of whom nothing is known, so that the page is the same as for everybody like them."""
    personal = {settings.SESSION_COOKIE_NAME, CookieStorage.cookie_name}
    return not personal & request.COOKIES.keys() and (
        len(request.get_full_path()) <= _LONGEST_ADDRESS
    )


def _for_anybody(request: HttpRequest, problem: Problem, key: BoardKey) -> HttpResponse:
    """The page as it was drawn for the first who asked for it, as long as the board stays as it is."""

    def drawn() -> tuple[bytes, str]:
        page = render(request, "boards/leaderboard.html", _context(request, problem, key)).content
        return page, quote_etag(hashlib.sha256(page).hexdigest())

    page, tag = _shelf.get((key, request.get_full_path()), drawn)
    response = HttpResponse(page)
    response["Cache-Control"] = "no-cache"  # to be asked for each time; often nothing is sent then
    response["ETag"] = tag
    patch_vary_headers(response, ["Cookie"])
    return get_conditional_response(request, etag=tag, response=response) or response


_shelf: Shelf[tuple[BoardKey, str], tuple[bytes, str]] = Shelf(256)


def _context(request: HttpRequest, problem: Problem, key: BoardKey) -> dict[str, Any]:
    kind = get_kind(key.hardware)
    page = Paginator(range(size(key)), PAGE_SIZE).get_page(request.GET.get("page"))
    shown = rows(key, page.number)
    own = _own_row(request, problem, key, shown)
    return {
        "problem": problem,
        "kind": kind,
        "kinds": all_hardware(),
        "order": key.order,
        "orders": Standing.Order.choices if problem.pair is not None else (),
        "benchmarks": problem.benchmarks.get(kind.shapes, ()),
        "ranked_gpu": RANKED_GPU,
        "rows": [own if own and row.standing.pk == own.standing.pk else row for row in shown],
        "page": page,
        "own": own,
        "own_on_page": own is not None and any(r.standing.pk == own.standing.pk for r in shown),
    }


def _own_row(
    request: HttpRequest, problem: Problem, key: BoardKey, shown: Sequence[Row]
) -> Row | None:
    if not request.user.is_authenticated:
        return None
    for row in shown:
        if row.standing.user_id == request.user.pk:
            return draw(row.rank, row.standing, is_own=True)
    for standing in own_in_order(problem, request.user, key.order):
        if standing.hardware == key.hardware:
            return draw(own_rank(standing, get_kind(key.hardware)), standing, is_own=True)
    return None


def _chosen_order(problem: Problem, name: str) -> str:
    """By score, unless a pair's board is asked for by saved bytes."""
    if not name:
        return Standing.Order.SCORE
    if problem.pair is None or name not in Standing.Order.values:
        raise Http404("This board has no such order.")
    return name


def _chosen_kind(name: str) -> HardwareKind:
    kinds = all_hardware()
    if not name:
        return kinds[0]
    for kind in kinds:
        if kind.name == name:
            return kind
    raise Http404("This site has no such hardware.")
