"""What is known of runners, and two rows that the judging of submissions leans on."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from wire.announcements import LONGEST_TEXT


class Runner(models.Model):
    """A runner as it last announced itself. Only `last_heard` is the site's own observation."""

    name = models.CharField(max_length=LONGEST_TEXT, unique=True)
    hardware = models.JSONField()  # names of the kinds it serves
    machine = models.CharField(max_length=LONGEST_TEXT, blank=True)
    cpu = models.CharField(max_length=LONGEST_TEXT, blank=True)
    gpu = models.CharField(max_length=LONGEST_TEXT, blank=True)
    driver = models.CharField(max_length=LONGEST_TEXT, blank=True)
    versions = models.JSONField(default=dict)  # of python, torch, triton
    isolation = models.CharField(max_length=LONGEST_TEXT, blank=True)
    backpass = models.CharField(max_length=LONGEST_TEXT, blank=True)
    leaving = models.BooleanField(default=False)  # it said that it stops
    first_heard = models.DateTimeField()
    last_heard = models.DateTimeField()

    class Meta:
        ordering: ClassVar = ["name"]

    def __str__(self) -> str:
        return self.name


class Listening(models.Model):
    """Since when, without a gap, and until when the site has listened to runners: one row.

    A silence means something only if somebody listened.
    """

    since = models.DateTimeField()
    until = models.DateTimeField()

    class Meta:
        verbose_name_plural = "listening"

    def __str__(self) -> str:
        return f"{self.since} to {self.until}"


class Turnstile(models.Model):
    """A row to lock, one for each hardware: one process at a time chooses whose job goes next."""

    hardware = models.CharField(max_length=64, primary_key=True)

    def __str__(self) -> str:
        return self.hardware
