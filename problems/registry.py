"""Finding problems: a problem is a package here that has a module `problem` with a `PROBLEM`."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import get_args

from problems.spec import Problem, Tier

_HERE = Path(__file__).parent
_TIER_ORDER = get_args(Tier)


class UnknownProblem(LookupError):
    """No problem has this name."""


@cache
def all_problems() -> tuple[Problem, ...]:
    """Every problem, easiest tier first."""
    found = [
        import_module(f"problems.{path.parent.name}.problem").PROBLEM
        for path in sorted(_HERE.glob("*/problem.py"))
    ]
    return tuple(sorted(found, key=lambda p: (_TIER_ORDER.index(p.tier), p.slug)))


def get_problem(slug: str) -> Problem:
    """The problem called `slug`; hyphens and underscores mean the same.

    Raises:
        UnknownProblem: with the names there are.
    """
    by_slug = {p.slug: p for p in all_problems()}
    try:
        return by_slug[slug.replace("-", "_")]
    except KeyError:
        known = ", ".join(by_slug)
        raise UnknownProblem(f"there is no problem {slug!r}; there are {known}") from None
