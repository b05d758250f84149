"""Entering what runners say of themselves, and that the site listened."""

from __future__ import annotations

import logging
from dataclasses import asdict
from datetime import timedelta
from typing import Any

from django.utils import timezone

from web.runners.models import Listening, Runner
from web.runners.queries import AWAY
from wire.announcements import Announcement
from wire.messages import BadMessage

logger = logging.getLogger(__name__)

# A runner that has been silent for this long is forgotten: containers get a new name with each start.
FORGOTTEN = timedelta(days=2)
MOST_RUNNERS = 500


def record_announcement(raw: Any) -> bool:
    """Enter what a runner says; whether it was taken. The latest word of a name stands.

    Dropped: what is no announcement, and new names beyond MOST_RUNNERS.
    """
    try:
        announcement = Announcement.from_json(raw)
    except BadMessage as error:
        logger.warning("dropped a message that is no announcement: %s", error)
        return False
    now = timezone.now()
    if announcement.leaving:
        leaving = Runner.objects.filter(name=announcement.name)
        return bool(leaving.update(leaving=True, last_heard=now))
    said = asdict(announcement) | {
        "hardware": list(announcement.hardware),
        "versions": dict(announcement.versions),
        "last_heard": now,
    }
    name = said.pop("name")
    if Runner.objects.filter(name=name).update(**said):
        return True
    Runner.objects.filter(last_heard__lt=now - FORGOTTEN).delete()
    if Runner.objects.count() >= MOST_RUNNERS:
        logger.warning("dropped the announcement of %s: there are %s", name, MOST_RUNNERS)
        return False
    Runner.objects.update_or_create(
        name=name, defaults=said, create_defaults={**said, "first_heard": now}
    )
    logger.info("a new runner: %s serves %s", name, ", ".join(announcement.hardware))
    return True


def note_listening() -> None:
    """The site listens to runners now. To be called more often than a runner may be silent."""
    now = timezone.now()
    if Listening.objects.filter(pk=1, until__gte=now - AWAY).update(until=now):
        return
    Listening.objects.update_or_create(pk=1, defaults={"since": now, "until": now})
