"""A number for each board that changes with it, so that what was drawn from an older state can be told.

Standings change in several ways: by a verdict, by hand in the admin, because a user is deleted or gets
another name. Django announces each of them, and the number changes in the same transaction. Bulk writes
announce nothing; whoever makes them calls `board_changed`.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection
from typing import Any

from django.db import IntegrityError, connection, transaction

from web.accounts.models import User
from web.boards.models import BoardVersion, Standing

_VERSION = "SELECT version FROM boards_boardversion WHERE problem = %s AND hardware = %s"
_BITS = 62  # of a number that a database stores with a sign


def version_of(problem: str, hardware: str) -> int | None:
    """The number of the board as it is now; None while nobody ever stood there."""
    # The one query of a board that is drawn already: building it by the ORM cost more than all the rest.
    with connection.cursor() as cursor:
        cursor.execute(_VERSION, [problem, hardware])
        found = cursor.fetchone()
    return int(found[0]) if found else None


def board_changed(problem: str, hardware: str) -> None:
    """Give the board another number. In the transaction of the change."""
    row = BoardVersion.objects.filter(problem=problem, hardware=hardware)
    version = secrets.randbits(_BITS)
    if row.update(version=version):
        return
    try:
        with transaction.atomic():
            BoardVersion.objects.create(problem=problem, hardware=hardware, version=version)
    except IntegrityError:  # another standing was the board's first, just now
        row.update(version=version)


def standing_changed(instance: Standing, **_: Any) -> None:
    """Receives what Django announces of standings."""
    board_changed(instance.problem, instance.hardware)


def user_changed(
    instance: User, created: bool, update_fields: Collection[str] | None, **_: Any
) -> None:
    """Receives what Django announces of users: their names stand on boards."""
    if created or (update_fields is not None and "username" not in update_fields):
        return
    boards = Standing.objects.filter(user=instance).order_by("problem", "hardware")
    for problem, hardware in boards.values_list("problem", "hardware"):
        board_changed(problem, hardware)
