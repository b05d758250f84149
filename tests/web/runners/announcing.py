"""Announcements as runners send them, and how long ago they came."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.utils import timezone

from web.runners.models import Listening, Runner
from web.runners.services import record_announcement
from wire.announcements import Announcement


def announcement(name: str = "judge@one", **changes: Any) -> dict[str, Any]:
    said = Announcement(
        name=name,
        hardware=("cpu", "interpreter"),
        machine="one",
        cpu="A Processor at 2 GHz",
        versions={"python": "3.11.7", "torch": "2.13.0"},
        isolation="namespaces",
        backpass="0.1.0",
    )
    return said.to_json() | changes


def announce(name: str = "judge@one", *, ago: float = 0.0, **changes: Any) -> Runner:
    """The runner, last heard of `ago` seconds ago."""
    assert record_announcement(announcement(name, **changes))
    Runner.objects.filter(name=name).update(last_heard=timezone.now() - timedelta(seconds=ago))
    return Runner.objects.get(name=name)


def listen(since: float, until: float = 0.0) -> None:
    """The site has listened from `since` to `until` seconds ago."""
    now = timezone.now()
    spans = {"since": now - timedelta(seconds=since), "until": now - timedelta(seconds=until)}
    Listening.objects.update_or_create(pk=1, defaults=spans)
