"""Figures as a page arranges them: a table a kernel, a row a target, remarks once."""

from __future__ import annotations

from typing import Any

from tests.web.inspection.samples import compiled, inspection
from web.inspection.figures import LOADS, kernels_of, widths
from wire.inspection import Advice, MemoryAccess


def test_a_kernel_launched_in_two_ways_has_two_tables() -> None:
    ways = [
        compiled(target=target, constants={"BLOCK": block})
        for target in ("sm_80", "sm_90")
        for block in ("64", "128")
    ]
    found = kernels_of(inspection(*ways, compiled("other")))
    assert [kernel.key for kernel in found] == ["rows", "rows.2", "other"]
    assert [row.constants["BLOCK"] for row in found[1].rows] == ["128", "128"]
    assert [row.target for row in found[1].rows] == ["sm_80", "sm_90"]


def test_a_remark_that_is_made_on_several_targets_is_told_once() -> None:
    rows = [
        compiled(target=target, advice=(Advice("grid", f"idle on {target}"),))
        for target in ("sm_80", "sm_90")
    ]
    (advice,) = kernels_of(inspection(*rows))[0].advice
    assert (advice.message, advice.targets) == ("idle on sm_80", ("sm_80", "sm_90"))


def test_widths_are_added_up_the_widest_first() -> None:
    accesses = (
        MemoryAccess("load", 4, 1),
        MemoryAccess("copy", 16, 2),
        MemoryAccess("load", 16, 3),
        MemoryAccess("store", 2, 9),
    )
    assert widths(accesses, LOADS) == ((16, 5), (4, 1))


def test_what_is_nowhere_has_no_column_and_what_is_somewhere_has() -> None:
    without: dict[str, Any] = {"spills": 0, "tensor_core": 0, "atomics": 0}
    rows = [compiled(target="sm_80", **without), compiled(**without, shared_memory=0)]
    (kernel,) = kernels_of(inspection(*rows))
    assert set(kernel.absent) == {"spills", "tensor_core", "atomics"}
