"""What was found inside a submission's kernels."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from web.submissions.models import Attempt, Submission


class StoredInspection(models.Model):
    """The latest inspection of a submission, from the attempt that judged it.

    `packed` is all of it (`wire.packing`); `figures` is the JSON form without the texts, which most
    pages do without.
    """

    submission = models.OneToOneField(
        Submission, models.CASCADE, primary_key=True, related_name="inspection"
    )
    attempt = models.ForeignKey(Attempt, models.CASCADE, related_name="+")
    figures = models.JSONField()
    packed = models.BinaryField()
    received_at = models.DateTimeField()

    class Meta:
        indexes: ClassVar = [models.Index(fields=["received_at"], name="inspection_received")]

    def __str__(self) -> str:
        return f"inside {self.submission_id}"
