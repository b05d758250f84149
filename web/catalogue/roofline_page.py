"""The roofline plot as HTML: drawn once for everybody to whom it looks the same."""

from __future__ import annotations

import uuid

from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from problems.spec import Problem
from web.accounts.models import User
from web.boards.shelf import Shelf
from web.catalogue.roofline import (
    MACHINES,
    RANKED,
    Key,
    Machine,
    Roofline,
    roofline,
    state,
    with_own,
)
from web.catalogue.roofline_plot import plot

_drawn: Shelf[Key, SafeString] = Shelf(256)


def drawn_roofline(problem: Problem, machine: Machine, user: User | None) -> SafeString:
    """The plot with links to those submissions that the user may open."""
    key = state(problem, machine)
    found = roofline(problem, machine, key)
    if user:
        found = with_own(found, problem, user)
        if linked := _linked(found, user):
            return _draw(problem, found, linked, user.pk)
    return _drawn.get(key, lambda: _draw(problem, found, set()))


def _linked(found: Roofline, user: User) -> set[uuid.UUID]:
    """What `web.submissions.owners.visible_submission` would show."""
    return {
        one.submission
        for one in found.attained
        if one.submission and (user.is_staff or one.user == user.pk)
    }


def _draw(
    problem: Problem, found: Roofline, linked: set[uuid.UUID], reader: int | None = None
) -> SafeString:
    context = {
        "problem": problem,
        "roofline": found,
        "plot": plot(found),
        "machines": MACHINES.values(),
        "ranked": MACHINES[RANKED],
        "linked": linked,
        "reader": reader,
        "has_own": any(one.user == reader for one in found.attained if one.user),
    }
    return render_to_string("catalogue/_roofline.html", context)
