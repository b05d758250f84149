"""What a verdict says in words and marks about where a gradient is wrong."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from django.template import Context, Template

from runner.heat_map import heat_map
from web.submissions.templatetags.verdicts import cells, drawn_height, share_of, wrong_region
from wire.verdict import HeatMap


def _wrong(shape: tuple[int, ...], *places: Any) -> HeatMap:
    mask = torch.zeros(shape, dtype=torch.bool)
    for place in places:
        mask[place] = True
    return heat_map(mask)


@pytest.mark.parametrize(
    ("heat", "words"),
    [
        (_wrong((4, 4)), ""),
        (_wrong((4, 4), (slice(None), slice(None))), "all 4 rows, all 4 columns"),
        (_wrong((4, 8), (slice(1, 3), slice(None))), "rows 1-2 of 4, all 8 columns"),
        (_wrong((4, 8), (3, 7)), "row 3 of 4, column 7 of 8"),
        (_wrong((10,), slice(4, 7)), "elements 4-6 of 10"),
        (_wrong((10,), slice(None)), "all 10 elements"),
        (_wrong((3, 1), (0, 0)), "row 0 of 3, the one column"),
    ],
)
def test_the_wrong_region_is_the_smallest_block_in_words(heat, words):
    assert wrong_region(heat) == words


@pytest.mark.parametrize("width", [31, 32, 33, 65, 100, 257, 4097])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.5, 1.0])
def test_a_cell_covers_exactly_the_indices_the_judge_counted_in_it(width, share):
    column = min(width - 1, int(share * width))
    wrong = [c for c in cells(_wrong((1, width), (0, column))) if c.share > 0]
    assert len(wrong) == 1
    first, _, last = wrong[0].column_range.partition("-")
    assert int(first) <= column <= int(last or first)
    covered = int(last or first) - int(first) + 1
    assert wrong[0].share == pytest.approx(1 / covered, abs=1e-4)


def test_the_cells_of_a_row_cover_every_index_once():
    ranges = [c.column_range for c in cells(_wrong((1, 100)))]
    covered: list[int] = []
    for span in ranges:
        first, _, last = span.partition("-")
        covered += range(int(first), int(last or first) + 1)
    assert covered == list(range(100))


def test_a_cell_is_drawn_the_darker_the_more_is_wrong_and_never_too_faint():
    heat = HeatMap(rows=1, columns=4, extent=(1, 4000), wrong_share=(0.0, 0.001, 0.5, 1.0))
    opacities = [cell.opacity for cell in cells(heat)]
    assert opacities == sorted(opacities)
    assert opacities[0] == 0.0
    assert opacities[1] >= 0.25
    assert opacities[3] == 1.0


@pytest.mark.parametrize(
    ("rows", "columns", "height"), [(1, 32, 14), (16, 32, 120), (16, 16, 240), (16, 1, 240)]
)
def test_a_drawing_keeps_its_cells_square_within_reason(rows, columns, height):
    heat = HeatMap(rows, columns, (rows, columns), (1.0,) * (rows * columns))
    assert drawn_height(heat) == height


def test_a_share_of_nothing_is_no_number():
    assert share_of(0, 0) is None
    assert share_of(1, 4) == 0.25


def test_the_drawing_has_no_inline_style_which_the_content_security_policy_would_block():
    heat = _wrong((64, 100), (slice(32, None), slice(50, None)))
    drawn = Template('{% include "submissions/_heat_map.html" %}').render(
        Context({"heat": heat, "gradient": {"name": "dx"}})
    )
    assert "style=" not in drawn
    assert 'aria-label="Wrong elements of dx: rows 32-63 of 64, columns 50-99 of 100"' in drawn
