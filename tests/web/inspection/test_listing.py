"""Rows of source and machine code, each with its way to the other side."""

from __future__ import annotations

from itertools import pairwise

from tests.web.inspection.samples import PTX, SASS, SOURCE
from web.inspection.listing import listing
from wire.inspection import Stage


def test_a_source_line_leads_to_its_first_row_and_says_how_many_there_are() -> None:
    rows = {row.number: row for row in listing(SOURCE, PTX).source}
    assert (rows[5].to, rows[5].count) == (2, 3)
    assert (rows[6].to, rows[6].count) == (4, 1)
    assert (rows[1].to, rows[1].count, rows[1].line) == (0, 0, 0)


def test_the_first_row_of_each_run_leads_back_to_the_source() -> None:
    found = listing(SOURCE, PTX)
    assert [row.to for row in found.stage] == [0, 5, 0, 6, 5]
    assert [row.line for row in found.stage] == [0, 5, 5, 6, 5]


def test_neighbouring_lines_have_different_colours_that_both_sides_share() -> None:
    source = "".join(f"line {n}\n" for n in range(1, 30))
    stage = Stage("x\n" * 20, tuple(range(3, 23)))
    found = listing(source, stage)
    tints = [row.tint for row in found.stage]
    assert all(one != next_ for one, next_ in pairwise(tints))
    by_line = {row.number: row.tint for row in found.source}
    assert all(row.tint == by_line[row.line] for row in found.stage)


def test_a_line_that_the_source_has_not_belongs_to_none() -> None:
    assert [row.line for row in listing("one\n", Stage("a\nb\n", (1, 99))).stage] == [1, 0]


def test_addresses_stand_close_to_their_instructions() -> None:
    wide = Stage("        /*0010*/                   LDG R1 ;\n", (5,))
    assert listing(SOURCE, wide).stage[0].text == "/*0010*/  LDG R1 ;"


def test_searching_knows_no_upper_and_lower_case() -> None:
    assert listing(SOURCE, SASS, "stg").hits == (2,)
    assert listing(SOURCE, SASS, "").hits == ()


def test_lines_end_at_line_feeds_alone() -> None:
    source = "a\u2028b\x0cc\nd"
    assert [row.text for row in listing(source, SASS).source] == ["a\u2028b\x0cc", "d"]
