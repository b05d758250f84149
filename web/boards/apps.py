"""Start-up of the boards app."""

from __future__ import annotations

from django.apps import AppConfig
from django.db.models.signals import post_delete, post_save


class BoardsConfig(AppConfig):
    """Watches standings change."""

    name = "web.boards"

    def ready(self) -> None:
        from web.boards.freshness import standing_changed  # models exist only after start-up

        for signal in (post_save, post_delete):
            signal.connect(
                standing_changed, sender="boards.Standing", dispatch_uid="standing_changed"
            )
