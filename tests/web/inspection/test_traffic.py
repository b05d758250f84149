"""Bytes as shares: how often the least is moved, how much of each sector is used."""

from __future__ import annotations

from web.inspection.traffic import Traffic


def test_a_tensor_that_is_read_twice_is_moved_two_times() -> None:
    assert Traffic("x", moved=64, least=32, sectors=2).repeated == 2.0


def test_of_a_sector_that_is_read_for_two_bytes_a_sixteenth_is_used() -> None:
    assert Traffic("x", moved=2, least=2, sectors=1).used == 1 / 16


def test_what_moves_nothing_has_no_shares() -> None:
    nothing = Traffic("x", moved=0, least=0, sectors=0)
    assert (nothing.repeated, nothing.used) == (None, None)
