"""Real kernels, compiled in a real sandbox for GPUs that are not here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from problems import get_problem
from runner.inspection.inspect import UnknownTarget, inspect
from runner.inspection.lines import READERS
from sandbox.choose import best_sandbox
from wire.gpus import GPUS

pytestmark = pytest.mark.sandbox

ROOT = Path(__file__).parents[3]
HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n\n"
COPY = """@triton.jit
def copy(x_ptr, out_ptr, n, stride, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at * stride, mask=at < n)
    tl.store(out_ptr + at, x, mask=at < n)


"""
NO_SPILLS = ("sm_80", "sm_90", "sm_100")
# That all references compile without spills is tested with the problems' tools; here are kinds of them.
SOLUTIONS = [
    pytest.param(get_problem(slug), ROOT / "kernels" / slug / name, id=f"{slug}-{name}")
    for slug, name in (
        ("rms_norm", "triton.py"),
        ("linear", "triton.py"),
        ("softmax_cross_entropy", "triton.py"),
        ("embedding", "triton_atomics.py"),
    )
]


def looked_into(body: str, targets=("sm_90",), problem="relu_squared"):
    return inspect(get_problem(problem), HEAD + body, best_sandbox(), targets=targets)


def copying(launch: str) -> str:
    return f"""{COPY}def backward(grad_output, x):
    dx = torch.empty_like(x)
    n = x.numel()
{launch}
    return dx
"""


@pytest.mark.parametrize(("problem", "path"), SOLUTIONS)
def test_a_reference_compiles_without_spills_and_its_lines_are_found(problem, path):
    source = path.read_text(encoding="utf-8")
    found = inspect(problem, source, best_sandbox(), targets=NO_SPILLS)
    assert found.remarks == ()
    assert {model.gpu for model in found.models} == {GPUS[target].name for target in NO_SPILLS}
    assert {k.target for k in found.kernels} == set(NO_SPILLS)
    lines = source.splitlines()
    for kernel in found.kernels:
        assert kernel.error == ""
        assert kernel.spills == 0, (kernel.name, kernel.target)
        assert 16 <= kernel.registers <= 255
        assert 0 < kernel.occupancy <= 1
        assert kernel.accesses
        for name in READERS:
            stage = getattr(kernel, name)
            assert len(stage.lines) == len(stage.text.splitlines())
            assert max(stage.lines) <= len(lines)
        loads = _lines_with(kernel.ttir, "tt.load")
        assert loads
        # An expression over several lines counts as any of them.
        assert all("load" in "".join(lines[max(n - 6, 0) : n]) for n in loads)
        assert set(_lines_with(kernel.sass, "STG")) <= set(_lines_with(kernel.ttir, "tt.store")) | {
            0
        }


def _lines_with(stage, word):
    texts = stage.text.splitlines()
    return [n for text, n in zip(texts, stage.lines, strict=True) if word in text]


def test_each_launch_is_told_with_grid_constants_and_the_gpu_it_asked_about():
    body = copying(
        "    many = torch.cuda.get_device_properties(x.device).multi_processor_count\n"
        "    for _ in range(3):\n"
        "        copy[(many,)](x, dx, n, 1, BLOCK=1024, num_warps=8)\n"
        "    copy[lambda meta: (triton.cdiv(n, meta['BLOCK']),)](x, dx, n, 1, BLOCK=512)"
    )
    found = looked_into(body, targets=("sm_80", "sm_90"))
    told = [(k.target, k.grid, k.constants, k.num_warps, k.launches) for k in found.kernels]
    n = found.dims["M"] * found.dims["N"]
    assert told == [
        ("sm_80", (108,), {"BLOCK": "1024"}, 8, 3),
        ("sm_80", (n // 512,), {"BLOCK": "512"}, 4, 1),
        ("sm_90", (132,), {"BLOCK": "1024"}, 8, 3),
        ("sm_90", (n // 512,), {"BLOCK": "512"}, 4, 1),
    ]
    assert {k.name for k in found.kernels} == {"copy"}
    assert found.kernels[0].line == HEAD.count("\n") + 1


@pytest.mark.parametrize(
    ("launch", "width", "advised"),
    [
        ("    copy[(64,)](x, dx, n, 1, BLOCK=4096)", 16, False),
        ("    copy[(64,)](x, dx, n, 3, BLOCK=4096)", 2, True),
        ("    copy[(64,)](x.view(-1)[1:], dx, n - 1, 1, BLOCK=4096)", 2, True),
    ],
)
def test_narrow_loads_are_seen_where_they_happen(launch, width, advised):
    (kernel,) = looked_into(copying(launch)).kernels
    loads = {a.width for a in kernel.accesses if a.op == "load"}
    assert loads == {width}
    narrow = [a for a in kernel.advice if a.kind == "narrow_loads"]
    assert bool(narrow) is advised
    for remark in narrow:
        assert "tl.load" in (HEAD + copying(launch)).splitlines()[remark.line - 1]


def test_spills_are_counted_and_advised_against():
    body = """@triton.jit
def hold(x_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    total = tl.load(x_ptr + at).to(tl.float32)
    for row in tl.static_range(1, 4):
        total += tl.load(x_ptr + row * N + at).to(tl.float32) * tl.max(total)
    tl.store(out_ptr + at, total)


def backward(grad_output, x):
    dx = torch.empty_like(x)
    hold[(1,)](x, dx, N=16384, num_warps=1)
    return dx
"""
    (kernel,) = looked_into(body).kernels
    assert kernel.spills > 0
    assert {"spills", "small_grid"} <= {a.kind for a in kernel.advice}


def test_a_dot_without_tensor_cores_is_told():
    body = """@triton.jit
def product(x_ptr, out_ptr, B: tl.constexpr):
    at = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
    x = tl.load(x_ptr + at).to(tl.float32)
    tl.store(out_ptr + at, tl.dot(x, x, input_precision="ieee"))


def backward(grad_output, x):
    product[(512,)](x, torch.empty(16, 16, device=x.device), B=16)
    return torch.empty_like(x)
"""
    (kernel,) = looked_into(body).kernels
    assert kernel.tensor_core == 0
    (remark,) = [a for a in kernel.advice if a.kind == "no_tensor_core"]
    assert "tl.dot" in (HEAD + body).splitlines()[remark.line - 1]


def test_atomics_and_tensor_cores_are_counted():
    body = """@triton.jit
def product(x_ptr, out_ptr, B: tl.constexpr):
    at = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
    x = tl.load(x_ptr + at)
    tl.atomic_add(out_ptr + at, tl.dot(x, x))


def backward(grad_output, x):
    product[(8,)](x, torch.zeros(64, 64, device=x.device), B=64)
    return torch.empty_like(x)
"""
    (kernel,) = looked_into(body).kernels
    assert kernel.atomics > 0
    assert kernel.tensor_core > 0
    assert kernel.error == ""


@pytest.mark.parametrize(
    ("body", "remark"),
    [
        ("def backward(grad_output, x):\n    return x\n", "launches no Triton kernel"),
        ("def backward(grad_output, x):\n    return 1 / 0\n", "ZeroDivisionError"),
        ("raise SystemExit(3)\n", "could not be loaded"),
        ("import os\n\n\ndef backward(grad_output, x):\n    os._exit(0)\n", "ended by itself"),
        (copying("    copy[(1,)](x, dx)"), "missing a required argument"),
        (copying("    while True:\n        copy[(1,)](x, dx, n, 1, BLOCK=64)"), "more than 4096"),
        (
            copying("    copy[(int(x.float().sum()) + 5,)](x, dx, n, 1, BLOCK=64)"),
            "looks at floating values",
        ),
    ],
)
def test_what_cannot_be_shown_is_said(body, remark):
    found = looked_into(body)
    assert any(remark in r for r in found.remarks), found.remarks


def test_a_kernel_the_compiler_refuses_is_shown_with_its_words():
    body = copying("    copy[(1,)](x, dx, n, 1, BLOCK=100)")
    (kernel,) = looked_into(body).kernels
    assert "power of 2" in kernel.error
    assert kernel.sass is None


def test_only_the_first_configuration_of_an_autotuner_that_fits_is_compiled_and_that_is_said():
    configs = (
        "[triton.Config({'BLOCK': b}, num_warps=w) for b, w in ((64, 1), (256, 2), (1024, 8))]"
    )
    body = copying("    copy[(64,)](x, dx, n, 1)").replace(
        "@triton.jit", f"@triton.autotune(configs={configs}, key=['n'])\n@triton.jit"
    )
    body = body.replace("constexpr):\n", "constexpr):\n    tl.static_assert(BLOCK >= 256)\n")
    found = looked_into(body)
    (kernel,) = found.kernels
    assert (kernel.constants["BLOCK"], kernel.num_warps, kernel.error) == ("256", 2, "")
    (remark,) = [r for r in found.remarks if "autotune has 3 configurations" in r]
    assert "first that fits, BLOCK: 256" in remark


def test_where_no_configuration_fits_the_first_is_shown_with_the_reason():
    body = copying("    copy[(64,)](x, dx, n, 1)").replace(
        "@triton.jit",
        "@triton.autotune(configs=[triton.Config({'BLOCK': b}) for b in (64, 128)], key=['n'])\n"
        "@triton.jit",
    )
    body = body.replace("constexpr):\n", "constexpr):\n    tl.static_assert(BLOCK >= 256)\n")
    (kernel,) = looked_into(body).kernels
    assert kernel.constants["BLOCK"] == "64"
    assert "CompileTimeAssertionFailure" in kernel.error


def test_everything_has_a_json_form_without_surprises():
    found = looked_into(copying("    copy[(64,)](x, dx, n, 1, BLOCK=4096)"))
    loaded = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert {
        "registers",
        "spills",
        "shared_memory",
        "occupancy",
        "ttir",
        "ttgir",
        "llir",
        "ptx",
        "sass",
    } <= set(loaded["kernels"][0])


def test_an_unknown_target_is_refused_with_the_known_ones():
    with pytest.raises(UnknownTarget, match="sm_90"):
        looked_into("", targets=("sm_1",))
