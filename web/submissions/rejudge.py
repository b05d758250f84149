"""Judging finished submissions once more, when nobody waits.

Asking only makes rows. They become jobs a few at a time (BACKPASS_REJUDGE_WINDOW for each hardware), and
none while a user's submission is queued for that hardware: a user waits for a rejudge no longer than for
the one job that is under way anyway.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from web.accounts.models import User
from web.submissions.lifecycle import start_attempt
from web.submissions.models import Attempt, Rejudge, Submission

logger = logging.getLogger(__name__)

_CHUNK = 1000


def finished(submissions: QuerySet[Submission]) -> QuerySet[Submission]:
    """Those that a rejudge can be asked for: they have a verdict, and no rejudge of them is open."""
    done = submissions.filter(state=Submission.State.DONE)
    return done.exclude(rejudges__state__in=Rejudge.OPEN)


def request_rejudge(
    submissions: QuerySet[Submission], by: User | None, batch: uuid.UUID | None = None
) -> int:
    """Have every finished one judged once more; how many that adds.

    The same `batch` again adds nothing, nor does one that waits or is being judged already.
    """
    batch = batch or uuid.uuid4()
    before = Rejudge.objects.filter(batch=batch).count()
    wanted = finished(submissions).order_by("created_at").values_list("pk", "hardware")
    for rows in _chunks(list(wanted)):
        Rejudge.objects.bulk_create(
            [
                Rejudge(submission_id=pk, hardware=hardware, batch=batch, requested_by=by)
                for pk, hardware in rows
            ],
            ignore_conflicts=True,
        )
    added = Rejudge.objects.filter(batch=batch).count() - before
    logger.info("%d rejudges asked for by %s", added, by.pk if by else "nobody")
    return added


def _chunks(rows: list[tuple[uuid.UUID, str]]) -> Iterator[list[tuple[uuid.UUID, str]]]:
    for start in range(0, len(rows), _CHUNK):
        yield rows[start : start + _CHUNK]


def start_waiting() -> int:
    """Make jobs of as many waiting rejudges as there is room for; how many. May run twice at once."""
    waiting = Rejudge.objects.filter(state=Rejudge.State.WAITING).order_by()
    started = 0
    for hardware in list(waiting.values_list("hardware", flat=True).distinct()):
        while _start_next(hardware):
            started += 1
    return started


def _start_next(hardware: str) -> bool:
    with transaction.atomic():
        # The lock on the oldest is what makes two that look at once start no more than one.
        rejudge = (
            Rejudge.objects.select_for_update(of=("self",))
            .select_related("submission")
            .filter(state=Rejudge.State.WAITING, hardware=hardware)
            .order_by("pk")
            .first()
        )
        if rejudge is None or not _has_room(hardware):
            return False
        rejudge.state = Rejudge.State.ACTIVE
        rejudge.save(update_fields=["state"])
        start_attempt(rejudge.submission, 1, rejudge)
    return True


def _has_room(hardware: str) -> bool:
    queued = Submission.objects.filter(hardware=hardware, state=Submission.State.QUEUED)
    under_way = Attempt.objects.filter(
        state__in=Attempt.ACTIVE, rejudge__isnull=False, submission__hardware=hardware
    )
    return not queued.exists() and under_way.count() < settings.BACKPASS_REJUDGE_WINDOW
