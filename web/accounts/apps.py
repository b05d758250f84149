"""Start-up of the accounts app."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.contrib.auth.signals import user_logged_in


class AccountsConfig(AppConfig):
    """Connects what happens at a login."""

    name = "web.accounts"

    def ready(self) -> None:
        user_logged_in.connect(_claim_runs, dispatch_uid="claim_runs")


def _claim_runs(request: Any = None, user: Any = None, **_kwargs: object) -> None:
    """What a visitor ran belongs to them once they log in or sign up."""
    from web.submissions.owners import claim_runs  # models exist only after start-up

    if request is not None and hasattr(request, "session"):
        claim_runs(request, user)
