"""What kernels move and compute at shapes far too large to run here, against what is known of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from problems import get_problem
from runner.failures import SessionFailed
from runner.inspection.tracer import Tracer
from sandbox.choose import best_sandbox
from wire.gpus import GPUS

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
    with Tracer(best_sandbox()) as tracer:
        tracer.start()
        tracer.load(get_problem(problem), source)
        return tracer.trace(get_problem(problem), dims, H100)


DESCRIPTORS = """from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def doubled(x, out, B: tl.constexpr):
    at = [tl.program_id(0) * B, tl.program_id(1) * B]
    out.store(at, x.load(at) * 2)


def backward(grad_output, x):
    dx = torch.empty_like(x)
    M, N = x.shape
    B = 64
    x, out = (TensorDescriptor.from_tensor(t, [B, B]) for t in (x, dx))
    doubled[(triton.cdiv(M, B), triton.cdiv(N, B))](x, out, B=B)
    return dx
"""


def test_what_moves_through_descriptors_is_counted():
    dims = {"M": 4096, "N": 8192}
    (one,) = trace(HEAD + DESCRIPTORS, dims).traces
    assert one.bytes == one.minimum_bytes == 2 * 2 * dims["M"] * dims["N"]
    assert one.sectors * 32 == one.bytes
    assert {t.tensor for t in one.tensors} == {"x", "out"}


def of_reference(slug, file="triton.py"):
    problem = get_problem(slug)
    benchmark = problem.benchmarks["gpu"][0]
    source = (ROOT / "kernels" / slug / file).read_text(encoding="utf-8")
    return trace(source, benchmark.dims, slug), problem.cost(benchmark.dims), problem


@pytest.mark.parametrize("slug", ["relu_squared", "rms_norm", "softmax", "softmax_cross_entropy"])
def test_a_reference_moves_hardly_more_than_the_least(slug):
    traced, cost, _ = of_reference(slug)
    assert sum(t.bytes for t in traced.traces) == pytest.approx(cost.bytes, rel=0.08)
    assert (traced.findings, traced.left_out) == ((), 0)
    for one in traced.traces:
        assert one.minimum_bytes <= one.bytes
        assert one.sectors * 32 >= one.bytes * 0.99
        assert one.flops["vector"] > 0


def test_what_is_gathered_by_an_index_is_what_true_indices_reach():
    traced, cost, problem = of_reference("moe_combine")
    kernels = {t.kernel: t for t in traced.traces}
    assert kernels["_tokens"].minimum_bytes == pytest.approx(cost.bytes, rel=0.02)
    # Every row is taken, as the first kernel noted in programs that ran: the second has no work.
    zeros = {t.tensor: t for t in kernels["_zero_padding"].tensors}["dz_ptr"]
    assert zeros.stored == 0
    dims = problem.benchmarks["gpu"][0].dims
    assert traced.written == (2 * dims["R"] * dims["D"], 4 * dims["T"] * dims["K"])


def test_pytorchs_own_operations_between_kernels_are_counted():
    traced, cost, _ = of_reference("embedding", "triton_atomics.py")
    zeros = next(t for t in traced.traces if t.kernel == "torch.zeros")
    assert zeros.programs == 0
    assert zeros.bytes == pytest.approx(cost.bytes, rel=0.05)
    kernel = next(t for t in traced.traces if t.programs)
    assert sum(t.atomics for t in kernel.tensors) > 0


def test_lengths_may_be_looked_at():
    traced = trace(
        HEAD
        + COPY.replace("(grad_output, x)", "(grad_output, q, k, v, out, lse, cu_seqlens)")
        .replace(
            "dx = torch.empty_like(x)",
            "x = q.reshape(-1, 1024)[: int(cu_seqlens[-1]) // 2]\n    dx = torch.empty_like(x)",
        )
        .replace("return dx", "return dx, k, v"),
        {"S": 2, "T": 512, "H": 2, "G": 1, "D": 1024},
        "flash_attention",
    )
    (kernel,) = traced.traces
    assert kernel.programs == 256
    assert traced.read[1] == 256 * 1024 * 2
    assert traced.written[0] == 256 * 1024 * 2


def test_products_of_matrices_are_counted_as_what_they_are():
    problem = get_problem("linear")
    dims = problem.benchmarks["gpu"][0].dims
    source = (ROOT / "kernels/linear/triton.py").read_text(encoding="utf-8")
    traces = trace(source, dims, "linear").traces
    flops = sum(t.flops["tensor_bf16"] for t in traces)
    assert flops == pytest.approx(problem.cost(dims).matrix_flops, rel=0.01)
    loaded = {q.tensor: q for q in traces[0].tensors}["x_ptr"]
    assert loaded.loaded > 10 * loaded.minimum


def test_a_stride_costs_sectors():
    dims = {"M": 100_000, "N": 1000}
    narrow = trace(HEAD + COPY, dims)
    wide = trace(HEAD + COPY.replace("copy[(M,)](x, dx, N, 1,", "copy[(M,)](x, dx, N, 16,"), dims)
    before, after = ({q.tensor: q for q in t.traces[0].tensors}["x_ptr"] for t in (narrow, wide))
    assert before.loaded == after.loaded == 2 * 100_000 * 1000
    assert before.sectors * 32 == pytest.approx(before.loaded, rel=0.05)
    assert after.sectors * 32 == pytest.approx(16 * after.loaded, rel=0.05)


def test_the_least_work_is_counted_exactly():
    (one,) = trace(HEAD + COPY, {"M": 70_000, "N": 1024}).traces
    elements = 70_000 * 1024
    assert one.programs == 70_000
    assert one.bytes == one.minimum_bytes == 4 * elements
    assert one.flops == {"vector": 2 * elements}


def test_an_offset_that_wraps_only_at_the_benchmark_shape_is_found_on_its_line():
    large = {"M": 1_200_000, "N": 2048}
    source = HEAD + COPY.replace("B=1024", "B=2048")
    findings = trace(source, large).findings
    lines = source.splitlines()
    assert {f.kind for f in findings} == {"int32_overflow"}
    assert all("row * N" in lines[f.line - 1] for f in findings)
    assert trace(source, {"M": 1_000_000, "N": 2048}).findings == ()
    wide = source.replace("program_id(0)", "program_id(0).to(tl.int64)")
    assert trace(wide, large).findings == ()


def test_launches_of_one_kernel_with_one_grid_are_added_up():
    source = HEAD + COPY.replace(
        "    return dx", "    copy[(M,)](dx, dx, N, 1, B=1024)\n    return dx"
    )
    (one,) = trace(source, {"M": 70_000, "N": 1024}).traces
    assert (one.launches, one.programs, one.bytes) == (2, 70_000, 2 * 4 * 70_000 * 1024)


def test_a_file_that_looks_at_floating_values_cannot_be_traced():
    with pytest.raises(SessionFailed, match="backward raised"):
        trace("def backward(grad_output, x):\n    return int(x.sum())\n", {"M": 4, "N": 4})
