"""A trace that shows less than the problem needs makes no time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from problems import get_problem
from runner.inspection.plausible import refusal
from runner.inspection.tracer import Traced
from wire.inspection import CompiledKernel, TensorTraffic, Trace

PROBLEM = get_problem("rms_norm")
DIMS = {"M": 1024, "N": 512}
SIZE = 1024 * 512 * 2
TRAFFIC = TensorTraffic("x", 2 * SIZE, SIZE, 3 * SIZE, 3 * SIZE // 32)
TRACE = Trace("rows", DIMS, 132, 3 * SIZE, 3 * SIZE, 3 * SIZE // 32, {"vector": 10**7}, (TRAFFIC,))
TRACED = Traced((TRACE,), (), read=(SIZE, SIZE, 1024, 4096), written=(SIZE, 2048))
KERNEL = CompiledKernel("rows", "sm_90", 3, (132,), 1, {}, {}, {})


def refused(traced=TRACED, kernels=(KERNEL,), problem=PROBLEM, dims=DIMS):
    return refusal(problem, dims, traced, kernels)


def test_an_honest_trace_is_believed():
    assert refused() is None


def test_what_was_saved_may_be_computed_again_and_samples_may_fall_short():
    assert refused(replace(TRACED, read=(SIZE, SIZE * 6 // 10, 1024, 0))) is None


@pytest.mark.parametrize(
    ("forged", "why"),
    [
        (replace(TRACED, read=(0, SIZE, 1024, 4096)), "of grad_output's"),
        (replace(TRACED, read=(SIZE, SIZE, 0, 4096)), "of weight's"),
        (replace(TRACED, written=(SIZE // 3, 2048)), "of dx's"),
        (replace(TRACED, written=(SIZE, 0)), "of dweight's"),
        (replace(TRACED, traces=(replace(TRACE, bytes=SIZE),)), "the launches move"),
        (replace(TRACED, traces=()), "no launch"),
        (replace(TRACED, traces=(replace(TRACE, kernel="torch.mul"),)), "no launch"),
        (replace(TRACED, traces=(replace(TRACE, programs=0),)), "no GPU launches"),
        (replace(TRACED, traces=(replace(TRACE, launches=2),)), "launched 1 times"),
        (replace(TRACED, traces=(replace(TRACE, kernel="other"),)), "launched 0 times"),
        (replace(TRACED, left_out=3), "too many"),
    ],
)
def test_a_trace_of_less_than_the_least_is_refused(forged, why):
    assert why in refused(forged)


@pytest.mark.parametrize(
    "kernels",
    [
        (),
        (KERNEL, KERNEL),
        (replace(KERNEL, grid=(1, 65536)),),
        (replace(KERNEL, grid=(2**31,)),),
        (replace(KERNEL, error="too much shared memory"),),
    ],
    ids=["none", "two", "too deep", "too wide", "failed"],
)
def test_launches_that_the_compiler_saw_otherwise_are_refused(kernels):
    assert refused(kernels=kernels)


def test_products_that_were_not_computed_are_missed():
    problem = get_problem("linear")
    dims = {"M": 256, "N": 256, "K": 256}
    size = 256 * 256 * 2
    trace = replace(TRACE, bytes=10 * size, flops={"tensor_bf16": problem.cost(dims).matrix_flops})
    traced = Traced((trace,), (), read=(size, size, size), written=(size, 2 * size, 1024))
    assert refused(traced, problem=problem, dims=dims) is None
    lazy = replace(traced, traces=(replace(trace, flops={"vector": 1000}),))
    assert "FLOPs" in refused(lazy, problem=problem, dims=dims)


def test_where_indices_decide_samples_may_miss_most_but_not_all():
    problem = get_problem("embedding")
    dims = {"M": 4096, "V": 4096, "N": 128}
    rows, table = 4096 * 128 * 2, 4096 * 128 * 4
    trace = replace(TRACE, bytes=rows + table)
    some = Traced((trace,), (), read=(rows // 10, 8 * 4096, 0), written=(table,))
    assert refused(some, problem=problem, dims=dims) is None
    none = replace(some, read=(0, 8 * 4096, 0))
    assert "of grad_output's" in refused(none, problem=problem, dims=dims)
