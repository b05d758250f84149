"""Runners and hardware as people read them."""

from __future__ import annotations

from datetime import timedelta

from django import template

from web.hardware import UnknownHardware, get_kind

register = template.Library()


@register.filter
def hardware(name: str) -> str:
    """A hardware as people call it; its name if this version knows no other."""
    try:
        return get_kind(name).label
    except UnknownHardware:
        return name


@register.filter
def wait(span: timedelta | None) -> str:
    """A wait: "0.4 s", "12 s", "3 min", "2 h"; a dash for None."""
    if span is None:
        return "–"
    seconds = span.total_seconds()
    if seconds < 9.95:
        return f"{max(seconds, 0):.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
