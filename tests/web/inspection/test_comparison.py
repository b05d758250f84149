"""Before and after: the figures that changed and the rows that differ."""

from __future__ import annotations

from tests.web.inspection.samples import compiled, inspection
from web.inspection.comparison import MOST_LINES, comparable, difference, pairs
from web.inspection.figures import kernels_of
from wire.inspection import MemoryAccess, Stage


def test_the_figures_that_changed_are_told_apart() -> None:
    (before,) = kernels_of(inspection(compiled()))
    access = (MemoryAccess("load", 16, 2), MemoryAccess("store", 16, 1))
    (after,) = kernels_of(inspection(compiled(registers=32, accesses=access)))
    ((target, figures),) = pairs(before, after)
    changed = {pair.name: (pair.before, pair.after) for pair in figures if pair.differs}
    assert target == "sm_90"
    assert changed == {"Registers": (64, 32), "Stores": ("1 × 2 B", "1 × 16 B")}


def test_a_target_on_which_one_does_not_compile_is_left_out() -> None:
    (before,) = kernels_of(inspection(compiled(error="no"), compiled(target="sm_80")))
    (after,) = kernels_of(inspection(compiled(), compiled(target="sm_80")))
    assert [target for target, _ in pairs(before, after)] == ["sm_80"]


def test_rows_that_are_new_and_gone_keep_their_numbers_on_both_sides() -> None:
    rows, whole = difference("a\nb\nc\nd\n", "a\nx\nc\nd\n")
    assert whole
    assert [(row.kind, row.before, row.after, row.text) for row in rows] == [
        ("same", 1, 1, "a"),
        ("gone", 2, 0, "b"),
        ("new", 0, 2, "x"),
        ("same", 3, 3, "c"),
        ("same", 4, 4, "d"),
    ]


def test_what_is_far_from_any_difference_is_left_out_with_a_gap() -> None:
    same = "".join(f"{n}\n" for n in range(40))
    rows, _ = difference(f"a\n{same}b\n", f"x\n{same}y\n")
    assert [row.kind for row in rows].count("gap") == 1
    assert (rows[-1].before, rows[-1].text) == (0, "y")
    assert rows[-1].after == 42


def test_the_same_text_has_no_rows() -> None:
    assert difference("a\n", "a\n") == ([], True)


def test_one_instruction_more_does_not_make_all_that_follow_differ() -> None:
    before = Stage("/*0000*/  A ;\n/*0010*/  B ;\n", (1, 1))
    after = Stage("/*0000*/  NEW ;\n/*0010*/  A ;\n/*0020*/  B ;\n", (1, 1, 1))
    rows, _ = difference(comparable(before), comparable(after))
    assert [row.kind for row in rows] == ["new", "same", "same"]


def test_only_the_beginning_of_long_texts_is_compared_and_that_is_said() -> None:
    rows, whole = difference("a\n" * (MOST_LINES + 1), "a\n" * MOST_LINES + "b\n")
    assert (rows, whole) == ([], False)
