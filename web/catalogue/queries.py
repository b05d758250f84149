"""Figures of the catalogue: who solved what, and how often it succeeds."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

from django.db.models import Count, Q

from web.accounts.models import User
from web.boards.models import Standing
from web.submissions.models import Submission
from wire.verdict import Verdict

# A rate of all submissions changes slowly, and counting them costs more than the rest of the page.
KEPT_SECONDS = 60.0


@dataclass(frozen=True)
class Figures:
    """How a problem fares. `acceptance` is the share of judged submissions, None if there are none."""

    acceptance: float | None = None
    solvers: int = 0


class _Kept:
    """What this process counted last, and when; `lock` is held by whoever counts."""

    lock = threading.Lock()
    at = float("-inf")
    figures: dict[str, Figures]


def figures() -> dict[str, Figures]:
    """By problem's slug, at most `KEPT_SECONDS` old; while one request counts, others get the old."""
    if _is_old():
        nothing_yet = _Kept.at == float("-inf")
        if _Kept.lock.acquire(blocking=nothing_yet):
            try:
                if _is_old():
                    _Kept.figures = count_figures()
                    _Kept.at = time.monotonic()
            finally:
                _Kept.lock.release()
    return _Kept.figures


def _is_old() -> bool:
    return time.monotonic() - _Kept.at >= KEPT_SECONDS


def count_figures() -> dict[str, Figures]:
    """By problem's slug; in two queries. The judge's own failures do not count against anybody."""
    judged = (
        Submission.objects.filter(mode=Submission.Mode.SUBMIT)
        .exclude(verdict__in=["", Verdict.JUDGE_FAILURE])
        .order_by()
        .values("problem")
        .annotate(judged=Count("pk"), accepted=Count("pk", filter=Q(verdict=Verdict.ACCEPTED)))
    )
    solvers = Standing.objects.values("problem").annotate(solvers=Count("user", distinct=True))
    rates = {row["problem"]: row["accepted"] / row["judged"] for row in judged}
    counts = {row["problem"]: row["solvers"] for row in solvers}
    return {slug: Figures(rates.get(slug), counts.get(slug, 0)) for slug in rates | counts}


def solved_by(user: User) -> set[str]:
    """Slugs of the problems of which the user has an accepted submission."""
    accepted = user.submissions.filter(
        mode=Submission.Mode.SUBMIT, verdict=Verdict.ACCEPTED
    ).order_by()
    return set(accepted.values_list("problem", flat=True).distinct())
