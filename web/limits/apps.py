"""Start-up of the limits."""

from __future__ import annotations

from django.apps import AppConfig
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured


class LimitsConfig(AppConfig):
    """Looks at the settings, so that a wrong one stops the start and not a submission."""

    name = "web.limits"

    def ready(self) -> None:
        from web.limits.rates import items  # models exist only after start-up

        for kind, limits in settings.BACKPASS_LIMITS.items():
            try:
                items(limits)
            except ValueError:
                raise ImproperlyConfigured(
                    f"BACKPASS_LIMIT_{kind.upper()} is {limits!r}; "
                    "write for example 30/minute;600/hour, or nothing for no limit"
                ) from None
