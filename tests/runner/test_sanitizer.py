"""Small kernels with one planted fault each, marked by a comment on its line; and ones that only look
as if they had one."""

from __future__ import annotations

import pytest

from problems import Language, get_problem
from runner.hardware import hardware_for
from runner.pool import ColdSessions
from runner.sanitizing import findings, merged
from sandbox.choose import best_sandbox

pytestmark = pytest.mark.sandbox

PROBLEM = get_problem("relu_squared")
CASE = next(c for c in PROBLEM.cases if c.name == "odd_sizes")  # M=17, N=257
HEAD = """import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, acc_ptr, M, N, B: tl.constexpr):
    pid = tl.program_id(0)
    cols = tl.arange(0, B)
"""
ROWS = """

def backward(grad_output, x):
    M, N = x.shape
    dx = torch.empty_like(x)
    acc = torch.zeros(512, dtype=torch.float32)
    kernel[(M,)](x, dx, acc, M, N, B=512)
    return dx
"""
UNFILLED = ROWS.replace("torch.zeros(512", "torch.empty(512")
COPY = (
    "    tl.store(out_ptr + pid * N + cols, tl.load(x_ptr + pid * N + cols, cols < N), cols < N)\n"
)

# name: (kernel's body, what launches it, kind of the finding; the faulty line ends in "# FAULT")
PLANTED = {
    "load_past_the_end": (
        COPY + "    tl.load(x_ptr + M * N + cols)  # FAULT\n",
        ROWS,
        "out_of_bounds",
    ),
    "load_before_the_start": (
        COPY + "    tl.load(x_ptr + cols - 300, cols < 257)  # FAULT\n",
        ROWS,
        "out_of_bounds",
    ),
    "load_without_a_mask": (
        "    x = tl.load(x_ptr + pid * N + cols)  # FAULT\n"
        "    tl.store(out_ptr + pid * N + cols, x, cols < N)\n",
        ROWS,
        "out_of_bounds",
    ),
    "mask_by_the_block_instead_of_the_row": (
        "    x = tl.load(x_ptr + pid * N + cols, cols < B)  # FAULT\n"
        "    tl.store(out_ptr + pid * N + cols, x, cols < N)\n",
        ROWS,
        "out_of_bounds",
    ),
    "mask_one_too_wide": (
        COPY + "    tl.load(x_ptr + pid * N + cols, cols <= N)  # FAULT\n",
        ROWS,
        "out_of_bounds",
    ),
    "store_past_the_end": (
        "    x = tl.load(x_ptr + pid * N + cols, cols < N)\n"
        "    tl.store(out_ptr + (pid + 1) * N + cols, x, cols < N)  # FAULT\n",
        ROWS,
        "out_of_bounds",
    ),
    "atomic_past_the_end": (
        COPY + "    tl.atomic_add(acc_ptr + 500 + cols, 1.0)  # FAULT\n",
        ROWS,
        "out_of_bounds",
    ),
    "block_pointer_without_boundary_check": (
        COPY + "    p = tl.make_block_ptr(x_ptr, (M, N), (N, 1), (pid, 0), (1, 512), (1, 0))\n"
        "    tl.load(p)  # FAULT\n",
        ROWS,
        "out_of_bounds",
    ),
    "pointer_kept_in_a_loop_runs_out": (
        COPY + "    p = x_ptr + pid * N + cols\n"
        "    for _ in range(3):\n"
        "        tl.load(p, cols < N)  # FAULT\n"
        "        p += 9 * N\n",
        ROWS,
        "out_of_bounds",
    ),
    "one_tensor_read_through_another": (
        COPY + "    tl.load(acc_ptr + 4 * M * N + cols)  # FAULT\n",
        ROWS,
        "out_of_bounds",
    ),
    "grid_one_too_large": (
        COPY.replace("\n", "  # FAULT\n"),
        ROWS.replace("kernel[(M,)]", "kernel[(M + 1,)]"),
        "out_of_bounds",
    ),
    "sum_without_atomics": (
        COPY + "    total = tl.load(acc_ptr + cols)  # FAULT\n"
        "    tl.store(acc_ptr + cols, total + 1.0)\n",
        ROWS,
        "race",
    ),
    "every_program_writes_its_own_value": (
        COPY + "    tl.store(acc_ptr + cols, pid.to(tl.float32) + cols)  # FAULT\n",
        ROWS,
        "race",
    ),
    "rows_that_overlap": (
        "    x = tl.load(x_ptr + pid * N + cols, cols < N)\n"
        "    tl.store(out_ptr + pid * (N - 1) + cols, x, cols < N)  # FAULT\n",
        ROWS.replace("empty_like", "zeros_like"),
        "race",
    ),
    "last_block_writes_into_the_next_row": (
        "    x = tl.load(x_ptr + pid * N + cols, cols < N, other=7.0)\n"
        "    at = pid * N + cols\n"
        "    tl.store(out_ptr + at, x, at < M * N)  # FAULT\n",
        ROWS,
        "race",
    ),
    "scatter_with_equal_indices": (
        COPY + "    tl.store(acc_ptr + cols // 2, cols.to(tl.float32))  # FAULT\n",
        ROWS.replace("kernel[(M,)]", "kernel[(M,)]"),
        "race",
    ),
    "zeroed_by_the_first_program_only": (
        COPY
        + "    tl.store(acc_ptr + cols, tl.zeros((B,), tl.float32), mask=(cols < B) & (pid == 3))"
        "  # FAULT\n"
        "    tl.atomic_add(acc_ptr + cols, 1.0)\n",
        ROWS,
        "race",
    ),
    "atomic_here_plain_store_there": (
        COPY + "    if pid % 2 == 0:\n"
        "        tl.atomic_add(acc_ptr + cols, 1.0)\n"
        "    else:\n"
        "        tl.store(acc_ptr + cols, 5.0 + cols)  # FAULT\n",
        ROWS,
        "race",
    ),
    "the_neighbours_result_is_read": (
        COPY + "    tl.load(out_ptr + (pid - 1) * N + cols, (cols < N) & (pid > 0))  # FAULT\n",
        ROWS,
        "race",
    ),
    "the_neighbours_input_is_overwritten": (
        COPY + "    tl.load(acc_ptr + cols)\n"
        "    tl.store(acc_ptr + cols + pid, 1.0 + cols, cols + pid < 512)  # FAULT\n",
        ROWS,
        "race",
    ),
    "partial_sums_read_in_the_same_launch": (
        COPY + "    tl.store(acc_ptr + pid, 1.0 + pid)\n"
        "    if pid == M - 1:\n"
        "        tl.load(acc_ptr + cols, cols < M)  # FAULT\n",
        ROWS,
        "race",
    ),
    "rows_never_written": (
        COPY,
        ROWS.replace("kernel[(M,)]", "kernel[(M - 1,)]"),
        "unwritten_output",
    ),
    "last_columns_never_written": (
        "    x = tl.load(x_ptr + pid * N + cols, cols < N)\n"
        "    tl.store(out_ptr + pid * N + cols, x, cols < N - 1)\n",
        ROWS,
        "unwritten_output",
    ),
    "nothing_is_launched": (
        COPY,
        ROWS.replace("    kernel[", "    0 and kernel["),
        "unwritten_output",
    ),
    "output_of_pytorch_never_written": (
        COPY,
        ROWS.replace("return dx", "return torch.empty_like(x)"),
        "unwritten_output",
    ),
    "scratch_read_before_it_is_written": (
        COPY + "    tl.load(acc_ptr + cols)  # FAULT\n",
        UNFILLED,
        "uninitialized_read",
    ),
    "atomic_on_memory_that_holds_nothing": (
        COPY + "    tl.atomic_add(acc_ptr + cols, 1.0)  # FAULT\n",
        UNFILLED,
        "uninitialized_read",
    ),
    "pytorch_sums_what_nobody_wrote": (
        COPY + "    tl.store(acc_ptr + pid, 1.0)\n",
        UNFILLED.replace(
            "    return dx", "    dx += acc.sum().to(dx.dtype) * 0  # FAULT\n    return dx"
        ),
        "uninitialized_read",
    ),
}

HARMLESS = {
    "plain_copy": (COPY, ROWS),
    "sum_with_atomics": (COPY + "    tl.atomic_add(acc_ptr + cols, 1.0)\n", ROWS),
    "everyone_writes_the_same": (COPY + "    tl.store(acc_ptr + cols, 3.0 + cols)\n", ROWS),
    "own_partial_sums": (
        COPY + "    tl.store(acc_ptr + pid, 1.0)\n"
        "    tl.store(acc_ptr + pid, tl.load(acc_ptr + pid) + 1.0)\n",
        ROWS,
    ),
    "the_last_to_finish_sums_up": (
        COPY + "    tl.store(acc_ptr + pid, 1.0 + pid)\n"
        "    ticket = tl.atomic_add(acc_ptr + 511, 1.0)\n"
        "    if ticket == M - 1:\n"
        "        tl.store(acc_ptr + 510, tl.sum(tl.load(acc_ptr + cols, cols < M)))\n",
        ROWS,
    ),
    "scratch_filled_by_pytorch": (
        COPY + "    tl.load(acc_ptr + cols)\n",
        UNFILLED.replace("    kernel[", "    acc.fill_(0)\n    kernel["),
    ),
    "scratch_filled_by_an_earlier_launch": (
        "    tl.store(out_ptr + pid * N + cols, tl.load(x_ptr + pid * N + cols, cols < N), cols < N)\n"
        "    tl.store(acc_ptr + cols, 1.0, (cols < B) & (pid == 0))\n",
        UNFILLED.replace("    return", "    acc.sum()\n    return"),
    ),
    "a_view_with_an_offset": (
        COPY,
        ROWS.replace("kernel[(M,)](x, dx,", "kernel[(M,)](x.contiguous().view(-1)[0:], dx,"),
    ),
    "masked_lanes_far_outside": (
        COPY + "    tl.load(x_ptr + cols * 1000000, cols < 1)\n",
        ROWS,
    ),
    "block_pointer_with_boundary_check": (
        COPY + "    p = tl.make_block_ptr(x_ptr, (M, N), (N, 1), (pid, 0), (1, 512), (1, 0))\n"
        "    tl.load(p, boundary_check=(0, 1))\n",
        ROWS,
    ),
    "descriptors_that_reach_over_the_edge": (
        COPY + "    d = tl.make_tensor_descriptor(acc_ptr, [4, 100], [100, 1], [8, 128])\n"
        "    d.atomic_add([0, 0], tl.full((8, 128), 1.0, tl.float32))\n",
        ROWS,
    ),
    "equal_values_to_equal_indices": (COPY + "    tl.store(acc_ptr + cols // 2, 1.0)\n", ROWS),
    "written_by_one_read_by_the_next_launch": (
        COPY,
        ROWS.replace(
            "    return dx",
            "    kernel[(M,)](dx, torch.empty_like(x), acc, M, N, B=512)\n    return dx",
        ),
    ),
}


@pytest.fixture(scope="module")
def watch():
    """Watches a file on one case of relu_squared; all in one process, started anew when one broke it."""
    hardware = hardware_for(Language.TRITON)
    sessions = ColdSessions(best_sandbox())
    with sessions.take(hardware) as session:

        def run(source):
            session.load(PROBLEM, source)
            session.prepare(PROBLEM.make_arguments(CASE, 3), CASE.dims)
            return merged(findings(session.watch(), CASE))

        yield run


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_found_on_its_line(watch, name):
    body, launch, kind = PLANTED[name]
    source = HEAD + body + launch
    found = watch(source)
    marked = [n for n, line in enumerate(source.splitlines(), 1) if line.endswith("# FAULT")]
    assert (kind, marked[0] if marked else 0) in {(f.kind, f.line) for f in found}, found
    assert all(f.case == CASE.name and f.message and f.count >= 1 for f in found)


@pytest.mark.parametrize("name", HARMLESS)
def test_what_is_right_raises_no_alarm(watch, name):
    body, launch = HARMLESS[name]
    assert watch(HEAD + body + launch) == ()


def test_there_are_at_least_25_planted_faults_of_every_kind():
    assert len(PLANTED) >= 25
    assert {kind for _, _, kind in PLANTED.values()} == {
        "race",
        "out_of_bounds",
        "unwritten_output",
        "uninitialized_read",
    }


def test_a_finding_names_the_tensor_the_place_and_the_programs(watch):
    body, launch, _ = PLANTED["sum_without_atomics"]
    (race, *_) = watch(HEAD + body + launch)
    assert (race.kernel, race.tensor, race.index, race.program) == (
        "kernel",
        "acc_ptr",
        (0,),
        (1, 0, 0),
    )
    assert "program 1 reads acc_ptr[0], which program 0 of the same launch writes" in race.message


def test_a_load_past_the_end_says_where(watch):
    body, launch, _ = PLANTED["mask_by_the_block_instead_of_the_row"]
    (fault,) = watch(HEAD + body + launch)
    assert fault.tensor == "x_ptr"
    assert fault.program == (16, 0, 0)
    assert fault.index == (17 * 257,)
    assert "its mask hides nothing" in fault.message


@pytest.mark.parametrize(
    "told",
    [
        None,
        7,
        [{"kind": "race"}, 3],
        [{"kind": "insult", "message": "x"}],
        [{"kind": "race", "message": ["\x1b[2J"], "line": -4, "index": ["a"], "count": 10**30}],
    ],
)
def test_what_a_process_tells_is_read_as_data_from_an_enemy(told):
    for finding in findings({"findings": told}, CASE):
        assert finding.kind == "race"
        assert "\x1b" not in finding.message
        assert finding.line == 0
        assert finding.index == ()
        assert finding.count == 1
