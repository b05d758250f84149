"""Which tiles programs touch, against what follows by hand from the kernels and the case."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from problems import all_problems, get_problem
from runner.failures import SessionFailed
from runner.inspection import mapping
from runner.inspection.mapping import telling
from runner.inspection.tracer import Tracer
from runner.memory import layouts_of
from sandbox.choose import best_sandbox
from tests.runner.inspection.test_tracer import COPY, HEAD

pytestmark = pytest.mark.sandbox

ROOT = Path(__file__).parents[3]


def map_of(source, slug="relu_squared"):
    with Tracer(best_sandbox()) as tracer:
        tracer.start()
        tracer.load(get_problem(slug), source)
        return tracer.map(get_problem(slug))


def reference(slug, file="triton.py"):
    return map_of((ROOT / "kernels" / slug / file).read_text(encoding="utf-8"), slug)


def tiles(launch, tensor, op):
    """By program the tiles it touched, as (row, column)."""
    (one,) = (m for m in launch.maps if (m.tensor, m.op) == (tensor, op))
    across = one.tiles[1]
    found: dict[int, set[tuple[int, int]]] = {}
    for program, first, count in one.touched():
        found.setdefault(program, set()).update(
            divmod(tile, across) for tile in range(first, first + count)
        )
    return found


def test_rms_norm_has_blocks_of_rows_and_a_partial_sum_of_each_program():
    maps = reference("rms_norm")
    assert (maps.case, maps.dims) == ("many_rows", {"M": 300, "N": 64})
    rows, sums = maps.launches
    # Blocks of 64 rows: five of them, the last of 44. A tile of x is 5 rows high and 1 column wide.
    assert (rows.kernel, rows.grid, rows.mapped) == ("_rows", (5, 1, 1), 5)
    every = range(64)
    blocks = {
        p: {(r // 5, c) for r in range(64 * p, min(64 * p + 64, 300)) for c in every}
        for p in range(5)
    }
    for tensor, op in (("x_ptr", "load"), ("dy_ptr", "load"), ("dx_ptr", "store")):
        assert tiles(rows, tensor, op) == blocks
    assert tiles(rows, "rstd_ptr", "load") == {
        p: {(0, r // 5) for r in range(64 * p, min(64 * p + 64, 300))} for p in range(5)
    }
    assert tiles(rows, "w_ptr", "load") == {p: {(0, c) for c in every} for p in range(5)}
    assert tiles(rows, "partial_ptr", "store") == {p: {(p, c) for c in every} for p in range(5)}
    assert tiles(sums, "partial_ptr", "load") == {0: {(p, c) for p in range(5) for c in every}}
    assert tiles(sums, "dw_ptr", "store") == {0: {(0, c) for c in every}}
    source = (ROOT / "kernels/rms_norm/triton.py").read_text(encoding="utf-8").splitlines()
    (line,) = next(m.lines for m in rows.maps if m.tensor == "partial_ptr")
    assert "tl.store(partial_ptr" in source[line - 1]


def test_embedding_by_atomics_changes_the_rows_that_the_tokens_name():
    maps = reference("embedding", "triton_atomics.py")
    problem = get_problem("embedding")
    ids = problem.make_arguments(telling(problem), mapping._SEED)["ids"].tolist()
    (launch,) = maps.launches
    each = 8  # tokens of a program
    across = range(52)  # 257 columns, 5 in a tile
    assert tiles(launch, "dw_ptr", "atomic") == {
        p: {(row, c) for row in ids[p * each : (p + 1) * each] for c in across}
        for p in range(launch.programs)
    }


def test_lanes_outside_of_a_tensor_touch_nothing_of_it():
    # Every row is read at four times its place: beyond the end of x after the first quarter.
    maps = map_of(HEAD + COPY.replace("x_ptr + row * N", "x_ptr + row * N * 4"))
    (launch,) = maps.launches
    assert launch.mapped == 300
    assert set(tiles(launch, "x_ptr", "load")) == set(range(75))
    assert set(tiles(launch, "out_ptr", "store")) == set(range(300))


def test_there_is_an_end_to_what_is_written_down(monkeypatch):
    few = {"side": 64, "launches": 1, "programs": 100, "maps": 1, "lines": 1, "runs": 40}
    monkeypatch.setattr(mapping, "_limits", lambda: {**few, "seconds": 60.0})
    twice = HEAD + COPY.replace(
        "    return dx\n", "    copy[(M,)](x, dx, N, 1, B=64)\n    return dx\n"
    )
    maps = map_of(twice)
    (launch,) = maps.launches
    assert (maps.left_out, launch.mapped, launch.programs) == (1, 40, 300)
    (one,) = launch.maps
    assert len(one.runs) == 3 * 40


LIES = {
    "no object": "[1]",
    "another kind of number": json.dumps({"launches": [{"kernel": "k", "grid": [1, 1, 1.5]}]}),
    "a program that is not there": json.dumps(
        {"launches": [{"kernel": "k", "grid": [1, 1, 1], "mapped": 1, "maps": [
            {"tensor": "x", "op": "load", "shape": [4], "runs": [1, 0, 1]}]}]}
    ),
    "not JSON": "{",
}  # fmt: skip


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_what_a_hostile_process_says_is_not_believed(lie):
    forged = f"""
import sys

def backward(grad_output, x):
    tensors = sys.modules["harness.tensors"]
    tensors.json.dumps = lambda _: {lie!r}
"""
    with pytest.raises(SessionFailed):
        map_of(forged)


def test_every_problem_has_a_case_to_map_that_fits_into_the_shared_memory():
    for problem in all_problems():
        case = telling(problem)
        assert case.public
        arguments = problem.make_arguments(case, 0)
        assert layouts_of(arguments)[1] <= mapping.ARENAS["inputs"]
