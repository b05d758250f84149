"""Numbers that only grow, kept where every process and machine of a site adds to the same ones."""

from __future__ import annotations

from typing import ClassVar

from django.db import models


class Tally(models.Model):
    """One number of one metric. `labels` is a JSON object with sorted keys, as text.

    Added to in the transaction that makes the thing counted: what is rolled back, or delivered twice, is
    not counted twice.
    """

    name = models.CharField(max_length=64)
    labels = models.CharField(max_length=200)
    value = models.FloatField(default=0.0)

    class Meta:
        verbose_name_plural = "tallies"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["name", "labels"], name="tally_once"),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.labels}: {self.value:g}"
