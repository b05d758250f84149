"""What a submission tells of itself while it is looked into: forged, it gains nothing."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from problems import get_problem
from runner.inspection.inspect import TRACED, inspect
from sandbox.choose import best_sandbox
from wire.inspection import Inspection

pytestmark = pytest.mark.sandbox

HERE = Path(__file__).parent
PROGRAMS = sorted((HERE / "models").glob("*.py"))
HONEST = HERE.parents[2] / "kernels/relu_squared/triton.py"


@cache
def looked_into(path: Path) -> Inspection:
    source = path.read_text(encoding="utf-8")
    return inspect(get_problem("relu_squared"), source, best_sandbox(), targets=(TRACED,))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_forged_trace_gains_nothing(path: Path) -> None:
    found = looked_into(path)
    must = path.read_text(encoding="utf-8").splitlines()[0].removeprefix("# must: ")
    if must == "no time":
        assert found.models == ()
        assert any("No time is modelled" in r or "not be traced" in r for r in found.remarks)
        return
    (time,) = found.models
    assert time.efficiency <= 1
    if must == "slower than the honest":
        (honest,) = looked_into(HONEST).models
        assert time.seconds > honest.seconds
    else:
        assert must == "at most the roofline"
