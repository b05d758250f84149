"""How quickly a site notices: from the environment, and never so that one late beat costs an attempt."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from types import ModuleType

import pytest

from wire import pace


@pytest.fixture
def again(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    yield monkeypatch
    monkeypatch.undo()
    importlib.reload(pace)


def read() -> ModuleType:
    return importlib.reload(pace)


def test_values_come_from_the_environment(again: pytest.MonkeyPatch) -> None:
    again.setenv("BACKPASS_BEAT_SECONDS", "0.5")
    again.setenv("BACKPASS_LEASE_SECONDS", "2")
    assert (read().BEAT_SECONDS, pace.LEASE_SECONDS) == (0.5, 2.0)


@pytest.mark.parametrize("value", ["soon", "0", "-1", "nan", "4000"])
def test_a_value_that_is_no_sensible_time_is_refused_by_name(
    again: pytest.MonkeyPatch, value: str
) -> None:
    again.setenv("BACKPASS_SWEEP_SECONDS", value)
    with pytest.raises(ValueError, match="BACKPASS_SWEEP_SECONDS"):
        read()


def test_a_lease_shorter_than_three_beats_is_refused(again: pytest.MonkeyPatch) -> None:
    again.setenv("BACKPASS_LEASE_SECONDS", "14")
    with pytest.raises(ValueError, match="three times"):
        read()
