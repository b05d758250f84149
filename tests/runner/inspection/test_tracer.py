"""What kernels move and compute at shapes far too large to run here, against what is known of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from problems import get_problem
from runner.inspection.gpus import GPUS
from runner.inspection.tracer import traced
from sandbox.choose import best_sandbox

pytestmark = pytest.mark.sandbox

ROOT = Path(__file__).parents[3]
H100 = GPUS["sm_90"]
HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n\n"
COPY = """@triton.jit
def copy(x_ptr, out_ptr, N, stride, B: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, B)
    x = tl.load(x_ptr + row * N + cols * stride, cols < N)
    tl.store(out_ptr + row * N + cols, x * x + 1.0, cols < N)


def backward(grad_output, x):
    dx = torch.empty_like(x)
    M, N = x.shape
    copy[(M,)](x, dx, N, 1, B=1024)
    return dx
"""


def trace(source, dims, problem="relu_squared"):
    found = traced(get_problem(problem), source, best_sandbox(), dims, H100)
    return found.traces, found.findings, found.remarks


@pytest.mark.parametrize("slug", ["relu_squared", "swiglu", "rms_norm", "softmax"])
def test_a_reference_moves_hardly_more_than_the_least(slug):
    problem = get_problem(slug)
    benchmark = problem.benchmarks["gpu"][0]
    source = (ROOT / "kernels" / slug / "triton.py").read_text(encoding="utf-8")
    traces, findings, remarks = trace(source, benchmark.dims, slug)
    cost = problem.cost(benchmark.dims)
    assert sum(t.bytes for t in traces) == pytest.approx(cost.bytes, rel=0.08)
    assert (findings, remarks) == ((), ())
    for one in traces:
        assert one.minimum_bytes <= one.bytes
        assert one.sectors * 32 >= one.bytes * 0.99
        assert one.flops["vector"] > 0


def test_products_of_matrices_are_counted_as_what_they_are():
    problem = get_problem("linear")
    dims = problem.benchmarks["gpu"][0].dims
    source = (ROOT / "kernels/linear/triton.py").read_text(encoding="utf-8")
    traces, _, _ = trace(source, dims, "linear")
    flops = sum(t.flops["tensor_bf16"] for t in traces)
    assert flops == pytest.approx(problem.cost(dims).matrix_flops, rel=0.01)
    loaded = {q.tensor: q for q in traces[0].tensors}["x_ptr"]
    assert loaded.loaded > 10 * loaded.minimum


def test_a_stride_costs_sectors():
    dims = {"M": 100_000, "N": 1000}
    narrow, _, _ = trace(HEAD + COPY, dims)
    wide, _, _ = trace(
        HEAD + COPY.replace("copy[(M,)](x, dx, N, 1,", "copy[(M,)](x, dx, N, 16,"), dims
    )
    before, after = ({q.tensor: q for q in t[0].tensors}["x_ptr"] for t in (narrow, wide))
    assert before.loaded == after.loaded == 2 * 100_000 * 1000
    assert before.sectors * 32 == pytest.approx(before.loaded, rel=0.05)
    assert after.sectors * 32 == pytest.approx(16 * after.loaded, rel=0.05)


def test_the_least_work_is_counted_exactly():
    (one,), _, _ = trace(HEAD + COPY, {"M": 70_000, "N": 1024})
    elements = 70_000 * 1024
    assert one.programs == 70_000
    assert one.bytes == one.minimum_bytes == 4 * elements
    assert one.flops == {"vector": 2 * elements}


def test_an_offset_that_wraps_only_at_the_benchmark_shape_is_found_on_its_line():
    large = {"M": 1_200_000, "N": 2048}
    source = HEAD + COPY.replace("B=1024", "B=2048")
    _, findings, _ = trace(source, large)
    lines = source.splitlines()
    assert {f.kind for f in findings} == {"int32_overflow"}
    assert all("row * N" in lines[f.line - 1] for f in findings)
    _, findings, _ = trace(source, {"M": 1_000_000, "N": 2048})
    assert findings == ()
    _, findings, _ = trace(source.replace("program_id(0)", "program_id(0).to(tl.int64)"), large)
    assert findings == ()


def test_what_depends_on_integers_is_said():
    source = (ROOT / "kernels/embedding/triton_atomics.py").read_text(encoding="utf-8")
    _, _, remarks = trace(source, {"M": 64, "V": 100, "N": 64}, "embedding")
    assert any("zeros for" in r for r in remarks)


def test_a_file_that_cannot_be_traced_is_told_why():
    source = "def backward(grad_output, x):\n    return int(x.sum())\n"
    traces, _, (remark,) = trace(source, {"M": 4, "N": 4})
    assert traces == ()
    assert "could not be traced" in remark
