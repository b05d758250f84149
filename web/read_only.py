"""Admin pages to look at things that only judging changes."""

from __future__ import annotations

from django.http import HttpRequest


class ReadOnlyAdmin:
    """Mixed into a ModelAdmin or an inline: nothing is added or changed by hand."""

    def has_add_permission(self, _request: HttpRequest, _obj: object = None) -> bool:
        return False

    def has_change_permission(self, _request: HttpRequest, _obj: object = None) -> bool:
        return False
