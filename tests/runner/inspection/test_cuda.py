"""Real `.cu` files, compiled by the real nvcc in a real sandbox; nothing of them is run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from problems import get_problem
from runner.__main__ import USAGE, main
from runner.inspection import cuda, toolkit
from runner.inspection.lines import ptx
from runner.inspection.text import render
from runner.inspection.toolkit import NoToolkit, find_toolkit
from sandbox.choose import best_sandbox
from wire.gpus import GPUS
from wire.inspection import Inspection

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "kernels" / "rms_norm" / "cuda.cu"
PROBLEM = get_problem("rms_norm")
ENTRY = 'extern "C" void backward(float* x, long n, cudaStream_t stream) {}\n'


@pytest.fixture(autouse=True, scope="module")
def _compiler():
    try:
        find_toolkit()
    except NoToolkit as error:
        pytest.skip(str(error))


def looked_into(source, targets=("sm_90",)):
    return cuda.inspect_cuda(PROBLEM, source, best_sandbox(), targets=targets)


@pytest.mark.sandbox
def test_the_example_compiles_for_every_gpu_with_wide_accesses_and_without_spills():
    source = EXAMPLE.read_text(encoding="utf-8")
    found = looked_into(source, tuple(GPUS))
    lines = source.splitlines()
    names = ["rows<1>", "rows<2>", "rows<4>", "sum_partials"]
    assert [(k.target, k.name) for k in found.kernels] == [(t, n) for t in GPUS for n in names]
    assert len(found.remarks) == 1
    for kernel in found.kernels:
        assert kernel.error == ""
        assert kernel.spills == 0
        assert 16 <= kernel.registers <= 255
        assert 0 < kernel.occupancy <= 1
        assert (kernel.grid, kernel.launches, kernel.num_warps) == ((), 0, 8)
        assert kernel.options == {"threads": "at most 256"}
        assert "__global__" in lines[kernel.line - 1]
        assert max(a.width for a in kernel.accesses) == (4 if kernel.name == "sum_partials" else 16)
        for stage in kernel.stages.values():
            assert len(stage.lines) == len(stage.text.splitlines())
        assert set(kernel.stages) == {"ptx", "sass"}
        stores = _lines_with(kernel.sass, "STG")
        assert stores
        # What a device function does is shown at its own line.
        assert all("=" in lines[number - 1] for number in stores)
    assert found.kernels[0].arguments["argument 1"] == "__nv_bfloat16 const*"
    assert Inspection.from_json(json.loads(json.dumps(found.to_json(), allow_nan=False))) == found
    assert "unknown" in render(found)


def _lines_with(stage, word):
    texts = stage.text.splitlines()
    return [n for text, n in zip(texts, stage.lines, strict=True) if word in text]


ADVISED = """\
#include <cuda_bf16.h>

__global__ void narrow(const __nv_bfloat16* x, __nv_bfloat16* y) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  y[at] = __hadd(x[at], x[at]);
}

__global__ void __launch_bounds__(64) indexed(const int* at, float* y) {
  float kept[64] = {};
  for (int i = 0; i < 64; ++i) kept[at[i] & 63] += y[i];
  y[threadIdx.x] = kept[at[threadIdx.x]];
}

__global__ void __launch_bounds__(1024) crowded(float* y) {
  float kept[128];
#pragma unroll
  for (int i = 0; i < 128; ++i) kept[i] = y[i * 1024 + threadIdx.x];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 128; ++i) y[i * 1024 + threadIdx.x] = kept[127 - i] * kept[i];
}

namespace of_hopper {
template <typename T>
__global__ void fence(T* y) {
  asm volatile("wgmma.fence.sync.aligned;");
  atomicAdd(y, T(1));
}
template __global__ void fence<float>(float*);
}  // namespace of_hopper
"""


@pytest.mark.sandbox
def test_what_can_be_done_better_is_said_where_it_happens():
    found = looked_into(ADVISED)
    kernels = {k.name: k for k in found.kernels}
    assert set(kernels) == {"narrow", "indexed", "crowded", "fence<float>"}
    advice = {name: {a.kind: a.line for a in k.advice} for name, k in kernels.items()}
    assert advice["narrow"] == {"narrow_loads": 5, "narrow_stores": 5}
    assert "stack" in advice["indexed"]
    assert "spills" in advice["crowded"]
    assert kernels["crowded"].spills > 0
    assert kernels["indexed"].num_warps == 2
    assert kernels["narrow"].options == {"threads": "unknown"}
    assert kernels["fence<float>"].atomics == 1
    assert any('no extern "C" void backward' in remark for remark in found.remarks)


@pytest.mark.sandbox
@pytest.mark.parametrize("secret", ["/etc/passwd", "/etc/hostname", str(ROOT / "manage.py")])
def test_files_of_the_machine_cannot_be_included(secret):
    found = looked_into(f'{ENTRY}#include "{secret}"\n')
    assert found.kernels == ()
    said = "\n".join(found.remarks)
    assert "submission.cu" in said or "does not compile" in said
    path = Path(secret)
    # The sandbox has a file of users of its own, with two that are nobody.
    ours = {"root:x:0:0::/:/bin/false", "job:x:1000:1000::/tmp:/bin/false"}
    lines = path.read_text(errors="replace").splitlines() if path.exists() else []
    assert not [line for line in lines if len(line) > 8 and line in said and line not in ours]


@pytest.mark.sandbox
def test_a_mistake_is_told_with_its_line_and_once():
    found = looked_into(ENTRY + "__global__ void k(float* x) { x[0] = y; }\n", ("sm_80", "sm_90"))
    assert found.kernels == ()
    (remark,) = found.remarks[1:]
    assert 'submission.cu(2): error: identifier "y" is undefined' in remark
    assert "/tmp" not in remark


@pytest.mark.sandbox
def test_a_file_without_kernels_says_so():
    found = looked_into(ENTRY)
    assert any("no __global__ function" in remark for remark in found.remarks)


@pytest.mark.sandbox
def test_a_file_that_compiles_for_ever_is_stopped(monkeypatch):
    monkeypatch.setattr(cuda, "COMPILE_SECONDS", 2.0)
    found = looked_into("#include __FILE__\n" * 2)
    assert found.kernels == ()
    assert any("Stopped after 2 s" in remark for remark in found.remarks)


def test_without_nvcc_the_command_line_says_how_to_install_it(monkeypatch, capsys):
    monkeypatch.setattr(toolkit, "_candidates", lambda: iter([Path("/nowhere/nvcc")]))
    assert main(["inspect", str(EXAMPLE), "--problem", "rms_norm"]) == USAGE
    assert "pip install -r requirements/cuda.txt" in capsys.readouterr().err


def test_without_a_host_compiler_the_message_names_it(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(NoToolkit, match=r"apt install g\+\+"):
        find_toolkit()


def test_a_cuda_file_is_not_judged_but_inspected(capsys):
    assert main(["judge", str(EXAMPLE), "--problem", "rms_norm"]) == USAGE
    assert "python -m runner inspect" in capsys.readouterr().err


def test_inlined_ptx_belongs_to_the_line_that_called_it():
    text = """\
	.loc	1 5 3
	mov.u32 %r1, 0;
	.loc	2 608 5, function_name $L__info_string0, inlined_at 1 7 30
	.loc	2 597 1, function_name $L__info_string1, inlined_at 2 608 5
	add.u32 %r1, %r1, 1;
	.file	1 "/tmp/x/submission.cu"
	.file	2 "/usr/include/cuda_bf16.hpp"
"""
    stage = ptx(text, "submission.cu")
    numbers = dict(zip(stage.text.splitlines(), stage.lines, strict=True))
    assert numbers["\tmov.u32 %r1, 0;"] == 5
    assert numbers["\tadd.u32 %r1, %r1, 1;"] == 7
