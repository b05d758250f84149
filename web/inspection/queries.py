"""Reading inspections for pages."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import QuerySet
from django.utils import timezone

from web.inspection.figures import KernelFigures, kernels_of
from web.inspection.models import StoredInspection
from web.submissions.models import Submission
from wire.inspection import Inspection
from wire.messages import is_inspected
from wire.packing import unpack
from wire.reading import Unreadable

logger = logging.getLogger(__name__)

# From the verdict on. A runner compiles for some seconds; one that has died says nothing any more.
LONGEST_WAIT = timedelta(minutes=10)
MOST_EARLIER = 20


@dataclass(frozen=True)
class Inside:
    """What a page says of a submission's inside: `state` is "none" (there is nothing to look into),
    "waiting" (it is being compiled), "missing" (it never came, or was deleted) or "here"."""

    state: str
    inspection: Inspection | None = None
    kernels: tuple[KernelFigures, ...] = ()


def inside_of(submission: Submission) -> Inside:
    """The figures, without texts."""
    if not submission.is_done or not is_inspected(submission.language, submission.verdict):
        return Inside("none")
    figures = (
        StoredInspection.objects.filter(pk=submission.pk).values_list("figures", flat=True).first()
    )
    inspection = _read(figures) if figures is not None else None
    if inspection:
        return Inside("here", inspection, kernels_of(inspection))
    since = submission.rejudged_at or submission.finished_at
    if figures is None and since and timezone.now() - since < LONGEST_WAIT:
        return Inside("waiting")
    return Inside("missing")


def whole_inspection(submission: Submission) -> Inspection | None:
    """With all texts; None if there is none, or one of a form no longer understood."""
    packed = (
        StoredInspection.objects.filter(pk=submission.pk).values_list("packed", flat=True).first()
    )
    if packed is None:
        return None
    try:
        return unpack(bytes(packed))
    except Unreadable:
        logger.exception("the inspection of submission %s is of another form", submission.pk)
        return None


def others_of_owner(submission: Submission) -> QuerySet[Submission]:
    """Other submissions of the same owner to the same problem that can be compared with it, newest
    first; without source and report."""
    return (
        Submission.objects.filter(
            user=submission.user_id,
            visitor=submission.visitor,
            problem=submission.problem,
            inspection__isnull=False,
        )
        .exclude(pk=submission.pk)
        .defer("source", "report")
        .order_by("-created_at")
    )


def earlier_of_owner(submission: Submission) -> list[Submission]:
    """The last few of those that came before it."""
    earlier = others_of_owner(submission).filter(created_at__lt=submission.created_at)
    return list(earlier[:MOST_EARLIER])


def _read(figures: object) -> Inspection | None:
    try:
        return Inspection.from_json(figures)
    except Unreadable:
        logger.exception("the figures of an inspection are of another form")
        return None
