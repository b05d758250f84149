"""Counters of rate limits, in the database: all processes share them, with Redis and without."""

from __future__ import annotations

from typing import ClassVar

from django.db import models


class Counter(models.Model):
    """How often something happened in a span of time that ends at `ends_at`."""

    key = models.CharField(max_length=255, primary_key=True)
    value = models.PositiveIntegerField()
    ends_at = models.DateTimeField()

    class Meta:
        indexes: ClassVar = [models.Index(fields=["ends_at"], name="counter_ends")]

    def __str__(self) -> str:
        return f"{self.key}: {self.value}"
