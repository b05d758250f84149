"""The user model: Django's own, as a model of this project so that it can grow."""

from __future__ import annotations

from django.contrib.auth.models import AbstractUser


class User(AbstractUser):
    """Somebody with an account."""
