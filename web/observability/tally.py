"""Adding to the numbers that only grow.

Everything is added after the commit of what it counts, each number in a statement of its own: what is
rolled back is not counted, no lock is held, and a number that cannot be written costs nobody a verdict.
"""

from __future__ import annotations

import json
from functools import partial

from django.db import IntegrityError, transaction
from django.db.models import F

from web.observability.models import Tally

SUM = "sum"
# Seconds. From what a warm judge needs for a case to the longest that a job may take.
BUCKETS = (
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
    20.0,
    30.0,
    60.0,
    120.0,
    300.0,
    600.0,
    1800.0,
    3600.0,
)


def count(name: str, labels: dict[str, str], by: float = 1.0) -> None:
    """Add to the counter `name`, after the commit."""
    transaction.on_commit(partial(_add, name, labels, by), robust=True)


def observe(name: str, labels: dict[str, str], seconds: float) -> None:
    """Put a duration into the histogram `name`, after the commit.

    Stored are the sum and how many fell into each bucket alone; reading adds them up.
    """
    seconds = max(0.0, seconds)
    bucket = next((str(b) for b in BUCKETS if seconds <= b), "+Inf")
    count(name, labels | {"le": bucket})
    count(name, labels | {"le": SUM}, by=seconds)


def _add(name: str, labels: dict[str, str], by: float) -> None:
    key = {"name": name, "labels": json.dumps(labels, sort_keys=True)}
    row = Tally.objects.filter(**key)
    if row.update(value=F("value") + by):
        return
    try:
        with transaction.atomic():
            Tally.objects.create(**key, value=by)
    except IntegrityError:  # another process counted the first one, just now
        row.update(value=F("value") + by)
