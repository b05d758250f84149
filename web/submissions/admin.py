"""Submissions in the admin: to be looked at; only judging changes them."""

from __future__ import annotations

from django.contrib import admin

from web.read_only import ReadOnlyAdmin
from web.submissions.models import Attempt, Submission


class AttemptInline(ReadOnlyAdmin, admin.TabularInline):  # type: ignore[type-arg]
    model = Attempt
    extra = 0
    can_delete = False


@admin.register(Submission)
class SubmissionAdmin(ReadOnlyAdmin, admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("id", "problem", "language", "mode", "user", "state", "verdict", "created_at")
    list_filter = ("state", "verdict", "problem", "hardware", "mode")
    list_select_related = ("user",)
    search_fields = ("id", "user__username", "source_sha256")
    date_hierarchy = "created_at"
    inlines = (AttemptInline,)
