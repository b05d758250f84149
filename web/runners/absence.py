"""What a problem's page says of languages whose hardware nobody serves at the moment."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from web.catalogue.pages import LanguageChoice
from web.runners.queries import absent


@dataclass(frozen=True)
class Absence:
    """A language that is judged later only: by a runner for `hardware`, once one is back."""

    language: str
    hardware: str


def absences(choices: Iterable[LanguageChoice]) -> tuple[Absence, ...]:
    """Those of the languages whose hardware is away for certain, with names for people."""
    choices = tuple(choices)
    away = absent({choice.hardware.name for choice in choices})
    return tuple(
        Absence(choice.label, choice.hardware.label)
        for choice in choices
        if choice.hardware.name in away
    )


def fingerprint(told: tuple[Absence, ...]) -> str:
    """Changes exactly when what is told does."""
    return ",".join(absence.language for absence in told) or "none"
