"""Atomic operations and tensor descriptors in the patched interpreter."""

from collections.abc import Callable

import pytest
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from runner.harness import interpreter

interpreter.install()

HALVES = [torch.bfloat16, torch.float16]


@triton.jit
def atomic(x_ptr, to_ptr, out_ptr, before_ptr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    before = tl.atomic_add(out_ptr + tl.load(to_ptr + at), tl.load(x_ptr + at), mask=at < SIZE - 2)
    tl.store(before_ptr + at, before)


@pytest.mark.parametrize("dtype", [*HALVES, torch.float32], ids=str)
def test_additions_to_few_addresses_round_one_after_the_other(dtype):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(64, generator=generator).to(dtype)
    to = torch.randint(0, 9, (64,), generator=generator)
    out, before = torch.zeros(9, dtype=dtype), torch.empty(64, dtype=dtype)
    atomic[(1,)](x, to, out, before, SIZE=64)
    expected, seen = torch.zeros(9, dtype=dtype), []
    for value, place in zip(x[:62], to[:62].tolist(), strict=True):
        seen.append(expected[place].clone())
        expected[place] += value
    assert torch.equal(out, expected)
    assert torch.equal(before[:62], torch.stack(seen))


@triton.jit
def reduced(x_ptr, target, OP: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row = tl.program_id(0) * ROWS
    at = (row + tl.arange(0, ROWS))[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    x = tl.load(x_ptr + at)
    if OP == "add":
        target.atomic_add([row, 8], x)
    elif OP == "min":
        target.atomic_min([row, 8], x)
    elif OP == "max":
        target.atomic_max([row, 8], x)
    elif OP == "or":
        target.atomic_or([row, 8], x)


REDUCED: dict[str, Callable[..., torch.Tensor]] = {
    "add": torch.add,
    "min": torch.minimum,
    "max": torch.maximum,
    "or": torch.bitwise_or,
}


@pytest.mark.parametrize(
    ("op", "dtype"),
    [
        ("add", torch.float32),
        ("add", torch.int32),
        *((op, dtype) for op in ("add", "min", "max") for dtype in HALVES),
        ("max", torch.int64),
        ("min", torch.int32),
        ("or", torch.int32),
    ],
    ids=str,
)
def test_descriptors_update_atomically_what_lies_inside(op, dtype):
    """12 rows in blocks of 8, from the eighth of 20 columns on."""
    generator = torch.Generator().manual_seed(1)
    x = (torch.randn(16, 16, generator=generator) * 9).to(dtype)
    target = (torch.randn(12, 24, generator=generator) * 9).to(dtype)
    expected = target.clone()
    inside = expected[:, 8:20]
    expected[:, 8:20] = REDUCED[op](inside, x[:12, :12])
    descriptor = TensorDescriptor(target, [12, 20], [24, 1], [8, 16])
    reduced[(2,)](x, descriptor, OP=op, ROWS=8, COLUMNS=16)
    assert torch.equal(target, expected)


@triton.jit
def through_descriptors(x_ptr, out_ptr, M, N, BLOCK: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [M, N], [N, 1], [BLOCK, BLOCK])
    out = tl.make_tensor_descriptor(out_ptr, [M, N], [N, 1], [BLOCK, BLOCK])
    row, column = tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK
    out.store([row, column], x.load([row, column]).to(tl.float32) * 2)


@pytest.mark.parametrize(
    "dtype", [torch.float32, *HALVES, torch.float8_e4m3fn, torch.float8_e5m2], ids=str
)
def test_descriptors_made_in_a_kernel_read_and_write_every_dtype(dtype):
    x = torch.randn(24, 48, generator=torch.Generator().manual_seed(2)).to(dtype)
    out = torch.zeros(24, 48, dtype=dtype)
    through_descriptors[(2, 3)](x, out, 24, 48, BLOCK=16)
    assert torch.equal(out.float(), (x.float() * 2).to(dtype).float())


@triton.jit
def asm(x_ptr):
    x = tl.load(x_ptr + tl.arange(0, 16))
    y = tl.inline_asm_elementwise(
        "ex2.approx.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1
    )
    tl.store(x_ptr + tl.arange(0, 16), y)


def test_inline_assembly_says_where_it_runs_and_what_to_use():
    with pytest.raises(Exception, match=r"inline PTX runs on NVIDIA GPUs only.*tl.math"):
        asm[(1,)](torch.ones(16))


@triton.autotune(
    configs=[triton.Config({"SIZE": size}) for size in (16, 32, 64)],
    key=["count"],
)
@triton.jit
def tuned(x_ptr, count, SIZE: tl.constexpr):
    tl.static_assert(SIZE >= 32, "one tile of 32 at least")
    at = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    tl.store(x_ptr + at, (at + SIZE).to(tl.float32), mask=at < count)


def test_autotuned_kernels_run_the_first_configuration_that_compiles_and_say_which(capsys):
    for count in (40, 50):
        x = torch.empty(count)
        tuned[lambda meta: (triton.cdiv(meta["count"], meta["SIZE"]),)](x, count)
        assert torch.equal(x, torch.arange(count) + 32.0)
    said = capsys.readouterr().err
    assert said.count("3 configurations") == 1
    assert "runs only SIZE: 32" in said
