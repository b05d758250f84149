"""Standings in the admin: an operator may take one off the board."""

from __future__ import annotations

from django.contrib import admin

from web.boards.models import Standing
from web.read_only import ReadOnlyAdmin


@admin.register(Standing)
class StandingAdmin(ReadOnlyAdmin, admin.ModelAdmin):  # type: ignore[type-arg]  # generic in the stubs only
    list_display = ("problem", "hardware", "user", "score", "speedup", "achieved_at")
    list_filter = ("problem", "hardware")
    list_select_related = ("user",)
    search_fields = ("user__username",)
