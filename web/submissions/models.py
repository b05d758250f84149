"""A submission and its attempts at being judged. The rows are the truth; the queue is a hint."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.urls import reverse

from wire.verdict import Verdict

MAX_ATTEMPTS = 3


class Submission(models.Model):
    """One source, posted once, that ends with one verdict.

    It belongs to a user, or to a visitor without an account: `visitor` is an id kept in the session.
    """

    class Mode(models.TextChoices):
        RUN = "run", "Run"
        SUBMIT = "submit", "Submit"

    class State(models.TextChoices):
        QUEUED = "queued", "Queued"
        RUNNING = "running", "Running"
        DONE = "done", "Done"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    problem = models.CharField(max_length=64)
    problem_version = models.PositiveIntegerField()
    language = models.CharField(max_length=32)
    hardware = models.CharField(max_length=32)
    mode = models.CharField(max_length=8, choices=Mode.choices)
    source = models.TextField()
    source_sha256 = models.CharField(max_length=64)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, blank=True, related_name="submissions"
    )
    visitor = models.CharField(max_length=32, blank=True, default="")
    idempotency_key = models.CharField(max_length=64, blank=True, default="")
    state = models.CharField(max_length=8, choices=State.choices, default=State.QUEUED)
    phase = models.CharField(max_length=16, blank=True, default="")
    phase_done = models.PositiveIntegerField(default=0)
    phase_total = models.PositiveIntegerField(default=0)
    verdict = models.CharField(
        max_length=32, blank=True, default="", choices=[(v.value, v.label) for v in Verdict]
    )
    headline = models.CharField(max_length=500, blank=True, default="")
    report = models.JSONField(null=True, blank=True)
    score = models.FloatField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    # When the first verdict came; a later one says when it replaced that in `rejudged_at`.
    finished_at = models.DateTimeField(null=True, blank=True)
    rejudged_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["-created_at"]
        indexes: ClassVar = [
            models.Index(fields=["user", "-created_at"], name="submission_of_user"),
            models.Index(fields=["visitor", "-created_at"], name="submission_of_visitor"),
            models.Index(
                fields=["hardware", "created_at"],
                condition=~Q(state="done"),
                name="submission_unfinished",
            ),
            models.Index(fields=["problem", "mode", "verdict"], name="submission_statistics"),
        ]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=(Q(state="done") & ~Q(verdict="") & Q(finished_at__isnull=False))
                | (~Q(state="done") & Q(verdict="") & Q(finished_at__isnull=True)),
                name="submission_done_with_verdict",
            ),
            models.CheckConstraint(
                condition=(Q(user__isnull=False) & Q(visitor=""))
                | (Q(user__isnull=True) & ~Q(visitor="")),
                name="submission_has_one_owner",
            ),
            models.CheckConstraint(
                condition=Q(mode="run") | Q(user__isnull=False), name="submission_submit_has_user"
            ),
            models.UniqueConstraint(
                fields=["user", "idempotency_key"],
                condition=Q(user__isnull=False) & ~Q(idempotency_key=""),
                name="submission_once_by_user",
            ),
            models.UniqueConstraint(
                fields=["visitor", "idempotency_key"],
                condition=~Q(visitor="") & ~Q(idempotency_key=""),
                name="submission_once_by_visitor",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.problem} in {self.language}: {self.verdict or self.state}"

    def get_absolute_url(self) -> str:
        return reverse("submission", args=[self.pk])

    @property
    def is_done(self) -> bool:
        return self.state == self.State.DONE

    @property
    def problem_url_slug(self) -> str:
        return self.problem.replace("_", "-")

    @property
    def waited(self) -> timedelta | None:
        """From the post to the first verdict."""
        return self.finished_at - self.created_at if self.finished_at else None

    @property
    def verdicts_before(self) -> models.QuerySet[EarlierVerdict]:
        """The verdicts that others replaced, the latest first, without their reports."""
        return self.earlier_verdicts.defer("report")

    @property
    def rejudge_is_open(self) -> bool:
        return self.rejudges.filter(state__in=Rejudge.OPEN).exists()


class Rejudge(models.Model):
    """A wish to have a finished submission judged once more.

    It waits until nobody else waits for the hardware. Meanwhile, and if judging fails, the submission
    keeps its verdict. `batch` names what one press of a button asked for: the same name again adds
    nothing.
    """

    class State(models.TextChoices):
        WAITING = "waiting", "Waiting"
        ACTIVE = "active", "Being judged"
        DONE = "done", "Done"
        FAILED = "failed", "Failed, the old verdict stands"

    OPEN: ClassVar = (State.WAITING, State.ACTIVE)

    submission = models.ForeignKey(Submission, models.CASCADE, related_name="rejudges")
    batch = models.UUIDField()
    hardware = models.CharField(max_length=32)
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    state = models.CharField(max_length=8, choices=State.choices, default=State.WAITING)
    why_failed = models.CharField(max_length=500, blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["-pk"]
        indexes: ClassVar = [
            models.Index(
                fields=["hardware", "id"], condition=Q(state="waiting"), name="rejudge_waiting"
            ),
        ]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["submission"],
                condition=Q(state__in=["waiting", "active"]),
                name="rejudge_one_open",
            ),
            models.UniqueConstraint(fields=["batch", "submission"], name="rejudge_once_in_batch"),
            models.CheckConstraint(
                condition=Q(state__in=["waiting", "active"], ended_at__isnull=True)
                | Q(state__in=["done", "failed"], ended_at__isnull=False),
                name="rejudge_ended_with_time",
            ),
        ]

    def __str__(self) -> str:
        return f"rejudge of {self.submission_id}: {self.state}"


class EarlierVerdict(models.Model):
    """A verdict that another one has replaced, as it was."""

    submission = models.ForeignKey(Submission, models.CASCADE, related_name="earlier_verdicts")
    problem_version = models.PositiveIntegerField()
    verdict = models.CharField(max_length=32, choices=[(v.value, v.label) for v in Verdict])
    headline = models.CharField(max_length=500, blank=True, default="")
    report = models.JSONField(null=True, blank=True)
    score = models.FloatField(null=True, blank=True)
    judged_at = models.DateTimeField()
    replaced_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["-replaced_at", "-pk"]

    def __str__(self) -> str:
        return f"{self.verdict} until {self.replaced_at:%Y-%m-%d %H:%M}"


class Attempt(models.Model):
    """One try at judging a submission. Its id is in the job and in every event that comes back.

    While it runs it holds a lease that the runner's beats extend; an attempt whose lease ran out is
    lost, and nothing that is said in its name counts any more.
    """

    class State(models.TextChoices):
        SENT = "sent", "Sent"
        RUNNING = "running", "Running"
        DONE = "done", "Done"
        LOST = "lost", "Lost"

    ACTIVE: ClassVar = (State.SENT, State.RUNNING)

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    submission = models.ForeignKey(Submission, models.CASCADE, related_name="attempts")
    # Null for those that bring the first verdict. Each rejudge counts its attempts anew.
    rejudge = models.ForeignKey(
        Rejudge, models.CASCADE, null=True, blank=True, related_name="attempts"
    )
    number = models.PositiveSmallIntegerField()
    state = models.CharField(max_length=8, choices=State.choices, default=State.SENT)
    # What the runner said it is doing, and since when: how long each phase takes is measured by it.
    phase = models.CharField(max_length=16, blank=True, default="")
    phase_since = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    # When the broker last took the job, and how often it did; null while it never has.
    dispatched_at = models.DateTimeField(null=True, blank=True)
    dispatches = models.PositiveIntegerField(default=0)
    started_at = models.DateTimeField(null=True, blank=True)
    runner = models.CharField(max_length=200, blank=True, default="")
    lease_until = models.DateTimeField(null=True, blank=True)
    last_seq = models.BigIntegerField(default=-1)

    class Meta:
        ordering: ClassVar = ["number"]
        indexes: ClassVar = [
            models.Index(fields=["started_at"], name="attempt_started"),
            models.Index(
                fields=["state"], condition=Q(state__in=["sent", "running"]), name="attempt_active"
            ),
        ]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["submission", "number"],
                condition=Q(rejudge__isnull=True),
                name="attempt_number",
            ),
            models.UniqueConstraint(fields=["rejudge", "number"], name="attempt_rejudge_number"),
            models.UniqueConstraint(
                fields=["submission"],
                condition=Q(state__in=["sent", "running"]),
                name="attempt_one_active",
            ),
            models.CheckConstraint(
                condition=(Q(state="running") & Q(lease_until__isnull=False))
                | (~Q(state="running") & Q(lease_until__isnull=True)),
                name="attempt_running_with_lease",
            ),
            models.CheckConstraint(
                condition=Q(number__gte=1) & Q(number__lte=MAX_ATTEMPTS),
                name="attempt_number_within_limit",
            ),
        ]

    def __str__(self) -> str:
        return f"attempt {self.number} of {self.submission_id}: {self.state}"
