from __future__ import annotations

import os

import pytest

from sandbox.output import CappedDrain, harmless

REPLACED = "\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"plain\ttext\n", "plain\ttext\n"),
        ("∂L/∂x \N{GREEK SMALL LETTER EPSILON}".encode(), "∂L/∂x ε"),
        (b"\x1b[31mred", f"{REPLACED}[31mred"),
        (b"a\rb\x00c\x7f", f"a{REPLACED}b{REPLACED}c{REPLACED}"),
        (b"\xff\xfe", REPLACED * 2),
        ("\u202egnp.exe".encode(), f"{REPLACED}gnp.exe"),
        (b"<script>", "<script>"),
    ],
)
def test_text_is_kept_and_control_is_replaced(raw: bytes, shown: str):
    assert harmless(raw) == shown


def test_the_first_bytes_are_kept_and_the_rest_is_read_and_dropped():
    readable, writable = os.pipe()
    drain = CappedDrain(readable, 10)
    for _ in range(100):
        os.write(writable, b"0123456789abcdef" * 1000)
    os.close(writable)
    drain.join(5)
    assert drain.text() == "0123456789"
