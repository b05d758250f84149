"""Inspections as they arrive, and those that are kept no longer."""

from __future__ import annotations

import logging
import uuid
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from web.boards.services import inspection_came
from web.inspection.modelled import modelled
from web.inspection.models import StoredInspection
from web.submissions.models import Attempt, Submission
from wire.messages import BadMessage, InspectionMessage
from wire.packing import from_text, unpack
from wire.reading import Unreadable

logger = logging.getLogger(__name__)

# Deleted in one go: a sweep is to be short.
_MOST_DROPPED = 200


def record_inspection(raw: Any) -> bool:
    """Keep what a runner found inside a submission, and rank by it; whether it is kept.

    Dropped: what is unreadable or about another problem, what comes from an attempt that is lost, and
    what comes after news from a later attempt. The same twice changes nothing.
    """
    try:
        message = InspectionMessage.from_json(raw)
        attempt_id = uuid.UUID(message.attempt)
        packed = from_text(message.packed)
        inspection = unpack(packed)
    except (BadMessage, Unreadable, ValueError) as error:
        logger.warning("dropped an inspection: %.300s", error)
        return False
    with transaction.atomic():
        submission = (
            Submission.objects.select_for_update(of=("self",)).filter(attempts=attempt_id).first()
        )
        if submission is None or inspection.problem != submission.problem:
            logger.warning("dropped an inspection of attempt %s: of nothing known", attempt_id)
            return False
        attempt = submission.attempts.get(pk=attempt_id)
        if attempt.state == Attempt.State.LOST or _has_later(submission, attempt):
            logger.info("dropped an inspection of attempt %s: it is out of date", attempt_id)
            return False
        StoredInspection.objects.update_or_create(
            submission=submission,
            defaults={
                "attempt": attempt,
                "figures": inspection.without_texts().to_json(),
                "packed": packed,
                "received_at": timezone.now(),
                **modelled(inspection),
            },
        )
        inspection_came(submission)
    return True


def _has_later(submission: Submission, attempt: Attempt) -> bool:
    return StoredInspection.objects.filter(
        submission=submission, attempt__created_at__gt=attempt.created_at
    ).exists()


def drop_old() -> int:
    """Delete what nobody with an account owns once it is old; how many."""
    oldest = timezone.now() - timedelta(days=settings.BACKPASS_INSPECTION_DAYS)
    old = StoredInspection.objects.filter(submission__user__isnull=True, received_at__lt=oldest)
    keys = list(old.values_list("pk", flat=True)[:_MOST_DROPPED])
    return StoredInspection.objects.filter(pk__in=keys).delete()[0]
