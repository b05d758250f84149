"""Figures of the catalogue: who solved what, and how often it succeeds."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, Q

from web.accounts.models import User
from web.boards.models import Standing
from web.submissions.models import Submission
from wire.verdict import Verdict


@dataclass(frozen=True)
class Figures:
    """How a problem fares. `acceptance` is the share of judged submissions, None if there are none."""

    acceptance: float | None = None
    solvers: int = 0


def figures() -> dict[str, Figures]:
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
