"""An inspection on its way through a queue: nothing is lost, and nothing grows on arrival."""

from __future__ import annotations

import json
import zlib
from dataclasses import replace

import pytest

from tests.web.inspection.samples import compiled, inspection
from wire.inspection import Finding, Stage
from wire.packing import (
    PACKED_BYTES,
    STAGE_CHARACTERS,
    UNPACKED_BYTES,
    from_text,
    pack,
    to_text,
    unpack,
)
from wire.reading import Unreadable


def test_an_inspection_arrives_as_it_was_sent() -> None:
    sent = inspection(
        findings=(Finding("race", "two write", 6, index=(1, 2)),), remarks=("∂ said",)
    )
    assert unpack(from_text(to_text(pack(sent)))) == sent


def test_a_long_text_is_cut_at_the_end_of_a_line_and_says_how_much_is_missing() -> None:
    lines = STAGE_CHARACTERS // 10 + 500
    long = Stage("123456789\n" * lines, tuple(range(lines)))
    arrived = unpack(pack(inspection(compiled(llir=long)))).kernels[0].llir
    assert arrived is not None
    assert len(arrived.text) <= STAGE_CHARACTERS
    assert arrived.text.endswith("123456789\n")
    assert arrived.text.count("\n") == len(arrived.lines) == lines - arrived.left_out
    assert 500 <= arrived.left_out <= 502


def test_a_text_without_line_ends_is_cut_all_the_same() -> None:
    arrived = unpack(pack(inspection(compiled(ptx=Stage("x" * 10**6, (0,)))))).kernels[0].ptx
    assert arrived is not None
    assert (len(arrived.text), arrived.lines) == (STAGE_CHARACTERS, (0,))


def test_more_text_than_is_sent_is_cut_until_it_fits() -> None:
    text = "".join(f"{n * 2654435761 % 2**32:08x}\n" for n in range(50_000))
    stage = Stage(text, (0,) * 50_000)
    kernels = [
        compiled(name=f"k{n}", ttir=stage, ttgir=stage, llir=stage, ptx=stage, sass=stage)
        for n in range(30)
    ]
    packed = pack(inspection(*kernels))
    assert len(packed) <= PACKED_BYTES
    arrived = unpack(packed)
    assert len(arrived.kernels) == 30
    assert all(s.left_out > 0 and s.text for k in arrived.kernels for s in k.stages.values())


def test_a_bomb_is_not_unpacked() -> None:
    bomb = zlib.compress(b" " * (UNPACKED_BYTES + 1))
    assert len(bomb) < 100_000
    with pytest.raises(Unreadable, match="unpacks to over"):
        unpack(bomb)


@pytest.mark.parametrize(
    "packed",
    [
        b"",
        b"no zlib",
        zlib.compress(b"no json"),
        zlib.compress(b"[" * 100_000),
        zlib.compress(b"{}"),
        zlib.compress(b"{}")[:-2],
        zlib.compress(b"{}") + b"more",
        b"\0" * (PACKED_BYTES + 1),
    ],
    ids=["empty", "no zlib", "no json", "deep", "no fields", "cut off", "more", "too long"],
)
def test_what_is_no_inspection_is_refused(packed: bytes) -> None:
    with pytest.raises(Unreadable):
        unpack(packed)


@pytest.mark.parametrize("text", ["not base64!", "AAA", "A" * (2 * PACKED_BYTES)])
def test_what_is_no_base64_is_refused(text: str) -> None:
    with pytest.raises(Unreadable):
        from_text(text)


def changed(path: str, value: object) -> bytes:
    data = json.loads(json.dumps(inspection().to_json()))
    *parents, last = path.split(".")
    node = data
    for name in parents:
        node = node[int(name) if name.isdigit() else name]
    node[last] = value
    return zlib.compress(json.dumps(data).encode())


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        ("schema", 2, "schema"),
        ("kernels.0.registers", "64", "registers"),
        ("kernels.0.ptx.lines", [1, 2], "one line number"),
        ("kernels.0.ptx.lines", [True] * 5, "lines"),
        ("kernels.0.occupancy", float("nan"), "finite"),
        ("kernels.0.constants", {str(n): "" for n in range(1001)}, "more than 1000"),
        ("kernels.0.extra", 1, "unknown field"),
        ("remarks", "text", "not a list"),
    ],
)
def test_the_first_thing_wrong_is_named(path: str, value: object, told: str) -> None:
    with pytest.raises(Unreadable, match=told):
        unpack(changed(path, value))


def test_more_kernels_than_a_page_shows_are_refused() -> None:
    many = replace(inspection(), kernels=(compiled(ptx=None, sass=None),) * 257)
    with pytest.raises(Unreadable, match="more than 256"):
        unpack(pack(many))


def test_what_a_terminal_or_a_database_obeys_does_not_arrive() -> None:
    arrived = unpack(pack(inspection(remarks=("a\x00\x1b[31m\u202e b",))))
    assert arrived.remarks == ("a\ufffd\ufffd[31m\ufffd b",)
