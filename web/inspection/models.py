"""What was found inside a submission's kernels."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from web.submissions.models import Attempt, Submission


class StoredInspection(models.Model):
    """The latest inspection of a submission, from the attempt that judged it.

    `packed` is all of it (`wire.packing`); `figures` is the JSON form without the texts, which most
    pages do without. `score` and `timings` are what a board shows of modelled times
    (`web.inspection.modelled`), with the versions of the problem and the model that they are of.
    """

    submission = models.OneToOneField(
        Submission, models.CASCADE, primary_key=True, related_name="inspection"
    )
    attempt = models.ForeignKey(Attempt, models.CASCADE, related_name="+")
    figures = models.JSONField()
    packed = models.BinaryField()
    score = models.FloatField(null=True, blank=True)
    timings = models.JSONField(default=list, blank=True)
    model_version = models.PositiveIntegerField(null=True, blank=True)
    problem_version = models.PositiveIntegerField(default=0)
    received_at = models.DateTimeField()

    class Meta:
        indexes: ClassVar = [models.Index(fields=["received_at"], name="inspection_received")]

    def __str__(self) -> str:
        return f"inside {self.submission_id}"
