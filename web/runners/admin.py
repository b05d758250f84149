"""Runners in the admin: to be looked at; they announce themselves."""

from __future__ import annotations

from django.contrib import admin

from web.read_only import ReadOnlyAdmin
from web.runners.models import Runner


@admin.register(Runner)
class RunnerAdmin(ReadOnlyAdmin, admin.ModelAdmin):  # type: ignore[type-arg]  # generic in the stubs only
    list_display = ("name", "hardware", "isolation", "backpass", "last_heard", "leaving")
    search_fields = ("name", "machine")
