"""Start-up of the boards app."""

from __future__ import annotations

from django.apps import AppConfig
from django.db.models.signals import post_delete, post_save


class BoardsConfig(AppConfig):
    """Watches what boards show change."""

    name = "web.boards"

    def ready(self) -> None:
        from web.boards.freshness import standing_changed, user_changed  # needs models

        for signal in (post_save, post_delete):
            signal.connect(
                standing_changed, sender="boards.Standing", dispatch_uid="standing_changed"
            )
        post_save.connect(user_changed, sender="accounts.User", dispatch_uid="user_changed")
