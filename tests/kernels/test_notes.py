"""The figures in the notes are those that the script works out from what is recorded today."""

from __future__ import annotations

import pytest

from benchmarks import notes
from problems.registry import all_problems


@pytest.mark.parametrize("slug", [problem.slug for problem in all_problems()])
def test_the_figures_in_the_notes_are_todays(slug: str) -> None:
    kept = notes.path(slug).read_text(encoding="utf-8")
    assert kept == notes.text(slug), "run python -m benchmarks.notes"


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0, "–"), (128, "128 B"), (1024, "1.02 kB"), (805_306_368, "805 MB"), (15.3e9, "15.3 GB")],
)
def test_sizes_have_three_digits_and_a_prefix(value: float, shown: str) -> None:
    assert notes.scaled(value, "B") == shown


@pytest.mark.parametrize(
    ("seconds", "shown"), [(7.1e-6, "7.1 µs"), (481.2e-6, "481 µs"), (2.8712e-3, "2.87 ms")]
)
def test_times_are_in_units_that_people_read(seconds: float, shown: str) -> None:
    assert notes.microseconds(seconds) == shown
