"""Submissions in the admin: to be looked at, and to be judged once more. Only judging changes them."""

from __future__ import annotations

import uuid
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.views.decorators.http import require_http_methods

from problems.registry import all_problems
from web.hardware import all_hardware
from web.read_only import ReadOnlyAdmin
from web.submissions.models import Attempt, EarlierVerdict, Rejudge, Submission
from web.submissions.rejudge import finished, request_rejudge

PERMISSION = "submissions.add_rejudge"


class AttemptInline(ReadOnlyAdmin, admin.TabularInline):  # type: ignore[type-arg]  # generic in the stubs only
    model = Attempt
    extra = 0
    can_delete = False


class EarlierVerdictInline(ReadOnlyAdmin, admin.TabularInline):  # type: ignore[type-arg]  # generic in the stubs only
    model = EarlierVerdict
    extra = 0
    can_delete = False
    fields = readonly_fields = (
        "verdict",
        "headline",
        "score",
        "problem_version",
        "judged_at",
        "replaced_at",
    )


class WhatToRejudge(forms.Form):
    """A problem, a kind of hardware, or one of each. Neither is nothing: that is never meant."""

    problem = forms.ChoiceField(required=False)
    hardware = forms.ChoiceField(required=False)
    batch = forms.UUIDField(required=False, widget=forms.HiddenInput)

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        problems = [(problem.slug, problem.title) for problem in all_problems()]
        kinds = [(kind.name, kind.label) for kind in all_hardware()]
        for name, choices in (("problem", problems), ("hardware", kinds)):
            field = self.fields[name]
            assert isinstance(field, forms.ChoiceField)
            field.choices = [("", "every one"), *choices]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if not cleaned.get("problem") and not cleaned.get("hardware"):
            raise forms.ValidationError("Choose a problem, a kind of hardware, or both.")
        return cleaned

    def submissions(self) -> QuerySet[Submission]:
        """What was submitted for a board; runs are not worth the time."""
        wanted = {k: v for k in ("problem", "hardware") if (v := self.cleaned_data[k])}
        return Submission.objects.filter(mode=Submission.Mode.SUBMIT, **wanted)


def judgeable(submissions: QuerySet[Submission]) -> QuerySet[Submission]:
    """Those finished ones that this site still has the problem and the hardware for."""
    return finished(submissions).filter(
        problem__in=[problem.slug for problem in all_problems()],
        hardware__in=settings.BACKPASS_HARDWARE,
    )


@admin.register(Submission)
class SubmissionAdmin(ReadOnlyAdmin, admin.ModelAdmin):  # type: ignore[type-arg]  # generic in the stubs only
    list_display = ("id", "problem", "language", "mode", "user", "state", "verdict", "created_at")
    list_filter = ("state", "verdict", "problem", "hardware", "mode")
    list_select_related = ("user",)
    search_fields = ("id", "user__username", "source_sha256")
    date_hierarchy = "created_at"
    inlines = (AttemptInline, EarlierVerdictInline)
    actions = ("rejudge_selected",)
    change_list_template = "admin/submissions/submission/change_list.html"

    def has_rejudge_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(PERMISSION)

    @admin.action(description="Rejudge selected submissions", permissions=["rejudge"])
    def rejudge_selected(
        self, request: HttpRequest, queryset: QuerySet[Submission]
    ) -> HttpResponse | None:
        """First how many that would be, with a button; the button's post comes here again."""
        wanted = judgeable(queryset)
        if batch := _as_uuid(request.POST.get("confirmed", "")):
            self._rejudge(request, wanted, batch)
            return None
        hidden: dict[str, list[Any]] = {
            "action": ["rejudge_selected"],
            "index": [request.POST.get("index", "0")],
            "select_across": [request.POST.get("select_across", "0")],
            ACTION_CHECKBOX_NAME: request.POST.getlist(ACTION_CHECKBOX_NAME),
            "confirmed": [uuid.uuid4()],
        }
        chosen = queryset.count()
        return self._confirm(request, wanted.count(), chosen, hidden, request.get_full_path())

    def get_urls(self) -> list[URLPattern]:
        own = path(
            "rejudge/",
            self.admin_site.admin_view(require_http_methods(["GET", "HEAD", "POST"])(self.rejudge)),
            name="submissions_submission_rejudge",
        )
        return [own, *super().get_urls()]

    def rejudge(self, request: HttpRequest) -> HttpResponse:
        """All of a problem or hardware: a form, then how many, then done. Only a post does anything."""
        if not self.has_rejudge_permission(request):
            raise PermissionDenied
        form = WhatToRejudge(request.POST if request.method == "POST" else request.GET or None)
        if not form.is_valid():
            context = {
                **self.admin_site.each_context(request),
                "title": "Rejudge",
                "opts": self.opts,
                "form": form,
            }
            return TemplateResponse(request, "admin/submissions/submission/rejudge.html", context)
        wanted = judgeable(form.submissions())
        if request.method == "POST" and form.cleaned_data["batch"]:
            self._rejudge(request, wanted, form.cleaned_data["batch"])
            return redirect("admin:submissions_rejudge_changelist")
        hidden = {name: [form.cleaned_data[name]] for name in ("problem", "hardware")}
        hidden["batch"] = [uuid.uuid4()]
        chosen = form.submissions().count()
        return self._confirm(
            request,
            wanted.count(),
            chosen,
            hidden,
            reverse("admin:submissions_submission_rejudge"),
        )

    def _confirm(
        self,
        request: HttpRequest,
        count: int,
        chosen: int,
        hidden: dict[str, list[Any]],
        target: str,
    ) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "title": "Rejudge: are you sure?",
            "opts": self.opts,
            "count": count,
            "left_out": chosen - count,
            "hidden": hidden,
            "target": target,
        }
        return TemplateResponse(
            request, "admin/submissions/submission/rejudge_confirmation.html", context
        )

    def _rejudge(
        self, request: HttpRequest, wanted: QuerySet[Submission], batch: uuid.UUID
    ) -> None:
        by = request.user if request.user.is_authenticated else None
        added = request_rejudge(wanted, by=by, batch=batch)
        self.message_user(
            request,
            f"{added} submission{'' if added == 1 else 's'} will be judged once more, when nobody "
            "waits. Until then the verdicts stand.",
            messages.SUCCESS if added else messages.WARNING,
        )


def _as_uuid(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None


@admin.register(Rejudge)
class RejudgeAdmin(ReadOnlyAdmin, admin.ModelAdmin):  # type: ignore[type-arg]  # generic in the stubs only
    """Deleting one that is open calls it off; the submission keeps the verdict it has."""

    list_display = ("submission", "hardware", "state", "why_failed", "requested_by", "created_at")
    list_filter = ("state", "hardware", "submission__problem")
    list_select_related = ("submission", "requested_by")
    search_fields = ("submission__id", "batch")
    raw_id_fields = ("submission",)
