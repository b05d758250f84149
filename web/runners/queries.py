"""Which hardware has a runner, as far as the site can tell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum

from django.utils import timezone

from web.runners.models import Listening, Runner
from wire.pace import LEASE_SECONDS

# A runner that was not heard of for longer than this is away, as its jobs are given away by then.
AWAY = timedelta(seconds=LEASE_SECONDS)


class Presence(StrEnum):
    """Whether a hardware has a runner. Unknown: the site has not listened for long enough to tell."""

    UP = "up"
    AWAY = "away"
    UNKNOWN = "unknown"


def is_up(runner: Runner, now: datetime) -> bool:
    """Whether the runner was heard of lately and did not say that it stops."""
    return not runner.leaving and runner.last_heard >= now - AWAY


def live_runners(hardware: str) -> int:
    """How many runners serve that hardware now."""
    return _served(timezone.now())[hardware]


def _served(now: datetime) -> Counter[str]:
    lately = Runner.objects.filter(last_heard__gte=now - AWAY, leaving=False)
    return Counter(
        kind for hardware in lately.values_list("hardware", flat=True) for kind in set(hardware)
    )


def presence(hardware: Iterable[str]) -> dict[str, Presence]:
    """How each of those stands; in two queries.

    A hardware is away only if the site has listened without a gap for longer than a runner may be
    silent: after a start of the site, or while the worker that listens is down, nothing is known.
    """
    now = timezone.now()
    served = _served(now)
    silence_means_something = Listening.objects.filter(
        since__lt=now - AWAY, until__gte=now - AWAY
    ).exists()
    absent = Presence.AWAY if silence_means_something else Presence.UNKNOWN
    return {kind: Presence.UP if served[kind] else absent for kind in hardware}


def absent(hardware: Iterable[str]) -> list[str]:
    """Those of them that have no runner now, for certain."""
    return [kind for kind, how in presence(hardware).items() if how is Presence.AWAY]
