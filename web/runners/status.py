"""What the status page shows, read in a fixed number of queries."""

from __future__ import annotations

import statistics
import zlib
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count
from django.utils import timezone

from web.hardware import HardwareKind, all_hardware
from web.runners.models import Runner
from web.runners.queries import Presence, is_up, presence
from web.submissions.models import Attempt
from wire.isolation import Isolation, isolation

# How long a runner that left or fell silent is still shown.
SHOWN = timedelta(days=1)
LATELY = timedelta(hours=1)
# The newest so many attempts tell the typical wait and the last verdict.
SAMPLE = 1000


@dataclass(frozen=True)
class RunnerState:
    """A runner, whether it is up, what its isolation means, how many jobs it has."""

    runner: Runner
    is_up: bool
    isolation: Isolation
    jobs: int

    @property
    def versions(self) -> list[tuple[str, str]]:
        known: dict[str, str] = self.runner.versions
        return sorted(known.items())


@dataclass(frozen=True)
class HardwareState:
    """A kind of hardware and its line. `wait`: the median of the last hour, from post to beginning."""

    kind: HardwareKind
    presence: Presence
    runners: int
    waiting: int
    judging: int
    wait: timedelta | None
    last_verdict: datetime | None

    @property
    def is_away(self) -> bool:
        return self.presence is Presence.AWAY


@dataclass(frozen=True)
class SiteState:
    """All of it."""

    hardware: tuple[HardwareState, ...]
    runners: tuple[RunnerState, ...]

    @property
    def fingerprint(self) -> str:
        """Changes when something that is shown does; not with each beat of a runner that is up."""
        runners = [
            (state, None if state.is_up else state.runner.last_heard, _shown(state.runner))
            for state in self.runners
        ]
        return f"{zlib.crc32(repr((self.hardware, runners)).encode()):08x}"


def _shown(runner: Runner) -> tuple[object, ...]:
    fields = ("hardware", "machine", "cpu", "gpu", "driver", "versions", "backpass", "leaving")
    return tuple(getattr(runner, field) for field in fields)


def site_state() -> SiteState:
    """How the site stands now, in six queries."""
    now = timezone.now()
    active = _active()
    jobs: dict[str, int] = defaultdict(int)
    for _, state, process, number in active:
        if state == Attempt.State.RUNNING:
            jobs[process.rpartition(":")[0]] += number
    runners = tuple(
        RunnerState(runner, is_up(runner, now), isolation(runner.isolation), jobs[runner.name])
        for runner in Runner.objects.filter(last_heard__gte=now - SHOWN)
    )
    waits, verdicts = _waits(now), _last_verdicts(now)
    kinds = all_hardware()
    there = presence(kind.name for kind in kinds)
    hardware = tuple(
        HardwareState(
            kind,
            there[kind.name],
            runners=sum(state.is_up and kind.name in state.runner.hardware for state in runners),
            waiting=_count(active, kind, Attempt.State.SENT),
            judging=_count(active, kind, Attempt.State.RUNNING),
            wait=waits.get(kind.name),
            last_verdict=verdicts.get(kind.name),
        )
        for kind in kinds
    )
    return SiteState(hardware, runners)


_Active = list[tuple[str, str, str, int]]


def _active() -> _Active:
    """Active attempts by hardware, state and runner's process."""
    attempts = Attempt.objects.filter(state__in=Attempt.ACTIVE).order_by()
    counted = attempts.values_list("submission__hardware", "state", "runner")
    return list(counted.annotate(number=Count("pk")))


def _count(active: _Active, kind: HardwareKind, state: str) -> int:
    return sum(number for name, has, _, number in active if (name, has) == (kind.name, state))


def _waits(now: datetime) -> dict[str, timedelta]:
    begun = Attempt.objects.filter(
        started_at__gt=now - LATELY, started_at__lte=now, number=1, rejudge__isnull=True
    ).order_by("-started_at")
    spans: dict[str, list[float]] = defaultdict(list)
    rows = begun.values_list("submission__hardware", "started_at", "submission__created_at")
    for hardware, started_at, created_at in rows[:SAMPLE]:
        if started_at:
            spans[hardware].append((started_at - created_at).total_seconds())
    return {name: timedelta(seconds=statistics.median(some)) for name, some in spans.items()}


def _last_verdicts(now: datetime) -> dict[str, datetime]:
    done = Attempt.objects.filter(
        state=Attempt.State.DONE, started_at__gt=now - SHOWN, rejudge__isnull=True
    ).order_by("-started_at")
    last: dict[str, datetime] = {}
    for hardware, at in done.values_list("submission__hardware", "submission__finished_at")[
        :SAMPLE
    ]:
        if at and (hardware not in last or at > last[hardware]):
            last[hardware] = at
    return last
