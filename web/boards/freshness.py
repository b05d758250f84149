"""A number for each board that changes with it, so that what was drawn from an older state can be told.

Standings change in several ways: by a verdict, by hand in the admin, because a user is deleted. Django
announces each of them, and the number is raised in the same transaction. Bulk writes announce nothing;
whoever makes them calls `raise_version`.
"""

from __future__ import annotations

from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F

from web.boards.models import BoardVersion, Standing


def version_of(problem: str, hardware: str) -> int:
    """The number of the board as it is now; 0 while nobody ever stood there."""
    row = BoardVersion.objects.filter(problem=problem, hardware=hardware)
    return row.values_list("version", flat=True).first() or 0


def raise_version(problem: str, hardware: str) -> None:
    """Say that the board has changed. In the transaction of the change."""
    row = BoardVersion.objects.filter(problem=problem, hardware=hardware)
    if row.update(version=F("version") + 1):
        return
    try:
        with transaction.atomic():
            BoardVersion.objects.create(problem=problem, hardware=hardware)
    except IntegrityError:  # another standing was the board's first, just now
        row.update(version=F("version") + 1)


def standing_changed(instance: Standing, **_: Any) -> None:
    """Receives what Django announces of standings."""
    raise_version(instance.problem, instance.hardware)
