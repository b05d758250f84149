"""Where each user stands on each problem and hardware."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from web.submissions.models import Submission
from wire.inspection import MODEL


class Standing(models.Model):
    """A user's best accepted submission for a problem on one kind of hardware.

    `timings` is a list of {name, median, speedup, efficiency}, one for each benchmark shape; seconds.
    Where times are modelled and not measured it is {name, modelled, roofline, efficiency}, and
    `model_version` says by which model: scores of different ones are not compared.

    A pair of forward and backward has a second order, by what is saved between them, in which another
    submission of the user may be the best: a row for each order. `saved_bytes` is of all shapes on which
    it is measured, `saved_baseline` what plain PyTorch saves there.
    """

    class Order(models.TextChoices):
        SCORE = "score", "By time"
        SAVED = "saved", "By saved bytes"

    problem = models.CharField(max_length=64)
    hardware = models.CharField(max_length=32)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="standings")
    submission = models.ForeignKey(Submission, models.CASCADE, related_name="+")
    problem_version = models.PositiveIntegerField()
    language = models.CharField(max_length=32)
    order = models.CharField(max_length=8, choices=Order.choices, default=Order.SCORE)
    saved_bytes = models.BigIntegerField(null=True, blank=True)
    saved_baseline = models.BigIntegerField(null=True, blank=True)
    score = models.FloatField(null=True, blank=True)
    speedup = models.FloatField(null=True, blank=True)
    model_version = models.PositiveIntegerField(null=True, blank=True)
    timings = models.JSONField(default=list, blank=True)
    achieved_at = models.DateTimeField()

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["problem", "hardware", "-score"], name="standing_by_score"),
            models.Index(fields=["problem", "hardware", "achieved_at"], name="standing_by_time"),
        ]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["problem", "hardware", "user", "order"], name="standing_once"
            ),
            models.CheckConstraint(
                condition=~Q(order="saved") | Q(saved_bytes__isnull=False),
                name="standing_by_known_bytes",
            ),
            models.CheckConstraint(
                condition=Q(score__isnull=True) | Q(score__gt=0), name="standing_score_positive"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} on {self.problem}, {self.hardware}"

    @property
    def saved_times(self) -> float | None:
        """What is saved, as a multiple of what plain PyTorch saves."""
        if self.saved_bytes is None or not self.saved_baseline:
            return None
        return self.saved_bytes / self.saved_baseline

    @property
    def comparable_score(self) -> float | None:
        """The score, unless an older model made it."""
        return self.score if self.model_version in (None, MODEL) else None


class BoardVersion(models.Model):
    """Another number whenever anything on a board changes: what was drawn before is not shown then.

    Drawn by lot, not counted, so that it never comes back, also not with a database restored from a
    backup. It changes in the transaction that changes the board (`web.boards.freshness`).
    """

    problem = models.CharField(max_length=64)
    hardware = models.CharField(max_length=32)
    version = models.PositiveBigIntegerField(default=1)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["problem", "hardware"], name="board_version_once"),
        ]

    def __str__(self) -> str:
        return f"{self.problem} on {self.hardware}: {self.version}"
