"""Which hardware takes which language."""

from __future__ import annotations

from typing import Any

import pytest

from problems.spec import Language
from web.hardware import UnknownHardware, all_hardware, get_kind, hardware_for
from wire.messages import Hardware


@pytest.mark.parametrize("language", list(Language))
def test_every_language_has_hardware_by_the_name_the_problems_use(language: Language) -> None:
    assert language.value in hardware_for(language).languages


def test_every_kind_that_ships_is_known() -> None:
    assert {kind.name for kind in all_hardware()} == set(Hardware)


def test_the_setting_decides_what_there_is(settings: Any) -> None:
    settings.BACKPASS_HARDWARE = ["interpreter"]
    assert [kind.name for kind in all_hardware()] == ["interpreter"]
    with pytest.raises(UnknownHardware, match="pytorch"):
        hardware_for("pytorch")


def test_a_name_nobody_knows_is_told_with_those_there_are() -> None:
    with pytest.raises(UnknownHardware, match="cpu, interpreter"):
        get_kind("abacus")
