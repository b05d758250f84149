"""Numbers as people read them."""

from __future__ import annotations

from typing import Any

import pytest

from web.catalogue.templatetags import figures


@pytest.mark.parametrize(
    ("name", "arguments", "shown"),
    [
        ("seconds", [1.5], "1.50 s"),
        ("seconds", [0.00123], "1.23 ms"),
        ("seconds", [0.0000456], "45.6 µs"),
        ("seconds", [0.123], "123 ms"),
        ("seconds", [5e-9], "5 ns"),
        ("seconds", [None], "–"),
        ("si", [16_777_216, "B"], "16.8 MB"),
        ("si", [999, "B"], "999 B"),
        ("si", [0, "B"], "0 B"),
        ("si", [2_000_000_000_000, ""], "2.00 T"),
        ("percent", [0.4321], "43.2 %"),
        ("percent", [1.0], "100 %"),
        ("percent", [0.41], "41.0 %"),
        ("percent", [0.0709], "7.09 %"),
        ("language", ["pytorch"], "PyTorch"),
        ("percent", [None], "–"),
        ("times", [1.5], "1.50×"),
        ("scientific", [0.00123], "1.2e-03"),
        ("scientific", [None], "not finite"),
    ],
)
def test_a_number_reads_well(name: str, arguments: list[Any], shown: str) -> None:
    assert getattr(figures, name)(*arguments) == shown
