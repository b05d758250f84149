"""The page for somebody who tried too often to log in, to sign up or to have a password sent."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

# What answers with this page counts by the minute (setting ACCOUNT_RATE_LIMITS).
WAIT = 60


def too_many_attempts(request: HttpRequest) -> HttpResponse:
    """429 with Retry-After. Context: `wait` in seconds."""
    response = render(request, "429.html", {"wait": WAIT}, status=429)
    response["Retry-After"] = str(WAIT)
    return response
