"""Every operation in bfloat16 and float16, in the patched interpreter, against PyTorch bit for bit."""

import pytest
import torch
import triton
import triton.language as tl

from runner.harness import interpreter

interpreter.install()

N = 64
HALVES = [torch.bfloat16, torch.float16]


@triton.jit
def binary(x_ptr, y_ptr, out_ptr, OP: tl.constexpr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    x = tl.load(x_ptr + at)
    y = tl.load(y_ptr + at)
    if OP == "add":
        z = x + y
    elif OP == "sub":
        z = x - y
    elif OP == "mul":
        z = x * y
    elif OP == "square_plus":
        z = x * x + y
    elif OP == "scaled":
        z = x * 3.0 - y
    elif OP == "max":
        z = tl.maximum(x, y)
    elif OP == "min":
        z = tl.minimum(x, y)
    elif OP == "where":
        z = tl.where(x > y, x, y * 2)
    elif OP == "abs":
        z = tl.abs(x)
    elif OP == "neg":
        z = -x
    elif OP == "full":
        z = x + tl.full((SIZE,), 1.5, x.dtype)
    elif OP == "zeros":
        z = x + tl.zeros((SIZE,), x.dtype)
    tl.store(out_ptr + at, z)


BINARY = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "square_plus": lambda x, y: x * x + y,
    "scaled": lambda x, y: x * 3.0 - y,
    "max": torch.maximum,
    "min": torch.minimum,
    "where": lambda x, y: torch.where(x > y, x, y * 2),
    "abs": lambda x, y: x.abs(),
    "neg": lambda x, y: -x,
    "full": lambda x, y: x + torch.full_like(x, 1.5),
    "zeros": lambda x, y: x,
}


def draw(dtype, *shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return (torch.randn(shape, generator=generator) * 4).to(dtype)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("op", BINARY)
def test_elementwise_operations_round_once_each(op, dtype):
    x, y = draw(dtype, N), draw(dtype, N, seed=1)
    out = torch.empty_like(x)
    binary[(1,)](x, y, out, OP=op, SIZE=N)
    assert torch.equal(out, BINARY[op](x, y))


@triton.jit
def divide(x_ptr, y_ptr, out_ptr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    tl.store(out_ptr + at, tl.load(x_ptr + at) / tl.load(y_ptr + at))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_division_is_made_in_float32(dtype):
    x, y = draw(dtype, N), draw(dtype, N, seed=1)
    out = torch.empty(N, dtype=torch.float32)
    divide[(1,)](x, y, out, SIZE=N)
    assert torch.equal(out.to(dtype), (x.float() / y.float()).to(dtype))


@triton.jit
def cast(x_ptr, out_ptr, SIZE: tl.constexpr, THROUGH: tl.constexpr):
    at = tl.arange(0, SIZE)
    tl.store(out_ptr + at, tl.load(x_ptr + at).to(THROUGH))


CASTS = [
    (torch.float32, torch.bfloat16, tl.bfloat16),
    (torch.float32, torch.float16, tl.float16),
    (torch.float64, torch.bfloat16, tl.bfloat16),
    (torch.bfloat16, torch.float32, tl.float32),
    (torch.bfloat16, torch.float16, tl.float16),
    (torch.float16, torch.bfloat16, tl.bfloat16),
    (torch.bfloat16, torch.int32, tl.int32),
    (torch.int32, torch.bfloat16, tl.bfloat16),
]


@pytest.mark.parametrize(("source", "target", "name"), CASTS, ids=str)
def test_casts_round_to_nearest_even(source, target, name):
    x = (draw(torch.float64, N) * 37).to(source)
    out = torch.empty(N, dtype=target)
    cast[(1,)](x, out, SIZE=N, THROUGH=name)
    assert torch.equal(out, x.to(target))


def test_casts_to_bfloat16_agree_on_ties_infinities_nan_and_subnormals():
    bits = torch.tensor(
        [
            0x3F808000,
            0x3F818000,
            0x3F80FFFF,
            0x7F7FFFFF,
            0x7F800000,
            0x00000001,
            0x007FFFFF,
            -0x800000,
        ],
        dtype=torch.int32,
    )
    x = bits.view(torch.float32)
    out = torch.empty(8, dtype=torch.bfloat16)
    cast[(1,)](x, out, SIZE=8, THROUGH=tl.bfloat16)
    assert torch.equal(out.view(torch.int16), x.bfloat16().view(torch.int16))
    nan = torch.full((8,), float("nan"))
    cast[(1,)](nan, out, SIZE=8, THROUGH=tl.bfloat16)
    assert bool(out.isnan().all())


@triton.jit
def truncate(x_ptr, out_ptr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    tl.store(out_ptr + at, tl.load(x_ptr + at).to(tl.bfloat16, fp_downcast_rounding="rtz"))


def test_rounding_towards_zero_is_there_when_asked_for():
    x = draw(torch.float32, N)
    out = torch.empty(N, dtype=torch.bfloat16)
    truncate[(1,)](x, out, SIZE=N)
    expected = (x.view(torch.int32) & -65536).view(torch.float32).bfloat16()
    assert torch.equal(out, expected)


@triton.jit
def reduce(
    x_ptr, out_ptr, AXIS: tl.constexpr, KEEP: tl.constexpr, ROWS: tl.constexpr, SIZE: tl.constexpr
):
    rows, columns = tl.arange(0, ROWS), tl.arange(0, SIZE)
    x = tl.load(x_ptr + rows[:, None] * SIZE + columns[None, :])
    if KEEP:
        total = tl.sum(x, axis=AXIS, keep_dims=True)
        tl.store(
            out_ptr + rows[:, None] * 0 + columns[None, :], total + tl.zeros((ROWS, SIZE), x.dtype)
        )
    else:
        total = tl.sum(x, axis=AXIS)
        length: tl.constexpr = SIZE if AXIS == 0 else ROWS
        tl.store(out_ptr + tl.arange(0, length), total)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("axis", [0, 1])
def test_sums_accumulate_in_the_dtype_itself(axis, dtype):
    x = torch.ones(16, 32, dtype=dtype) * 0.125
    out = torch.empty(32 if axis == 0 else 16, dtype=dtype)
    reduce[(1,)](x, out, AXIS=axis, KEEP=False, ROWS=16, SIZE=32)
    assert torch.equal(out, x.sum(axis))
    y = draw(dtype, 16, 32)
    reduce[(1,)](y, out, AXIS=axis, KEEP=False, ROWS=16, SIZE=32)
    exact = y.double().sum(axis)
    unit = torch.finfo(dtype).eps * y.double().abs().sum(axis)
    assert bool(((out.double() - exact).abs() <= 5 * unit).all())


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_sums_in_half_precision_lose_what_the_hardware_loses(dtype):
    # 1 + many halves of a unit in the last place: a float32 accumulator would keep them.
    unit = torch.finfo(dtype).eps / 2
    x = torch.full((16, 32), unit, dtype=dtype)
    x[:, 0] = 1.0
    out = torch.empty(16, dtype=dtype)
    reduce[(1,)](x, out, AXIS=1, KEEP=False, ROWS=16, SIZE=32)
    tree = x
    while tree.shape[1] > 1:
        tree = tree[:, : tree.shape[1] // 2] + tree[:, tree.shape[1] // 2 :]
    assert torch.equal(out, tree[:, 0])


def test_a_sum_can_keep_its_dimension():
    x = draw(torch.bfloat16, 16, 32)
    out = torch.empty(32, dtype=torch.bfloat16)
    reduce[(1,)](x, out, AXIS=0, KEEP=True, ROWS=16, SIZE=32)
    again = torch.empty(32, dtype=torch.bfloat16)
    reduce[(1,)](x, again, AXIS=0, KEEP=False, ROWS=16, SIZE=32)
    assert torch.equal(out, again)


@triton.jit
def dot(a_ptr, b_ptr, out_ptr, M: tl.constexpr, K: tl.constexpr, NN: tl.constexpr):
    m, k, n = tl.arange(0, M), tl.arange(0, K), tl.arange(0, NN)
    a = tl.load(a_ptr + m[:, None] * K + k[None, :])
    b = tl.load(b_ptr + k[:, None] * NN + n[None, :])
    tl.store(out_ptr + m[:, None] * NN + n[None, :], tl.dot(a, b))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_dot_multiplies_exactly_and_accumulates_in_float32(dtype):
    a, b = draw(dtype, 16, 32), draw(dtype, 32, 16, seed=1)
    out = torch.empty(16, 16)
    dot[(1,)](a, b, out, M=16, K=32, NN=16)
    assert torch.allclose(out.double(), a.double() @ b.double(), rtol=1e-5, atol=1e-4)


@triton.jit
def masked(x_ptr, out_ptr, count, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    x = tl.load(x_ptr + at, mask=at < count, other=-2.0)
    tl.store(out_ptr + at, x * 2, mask=at < count + 1)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_masked_loads_fill_and_masked_stores_leave_alone(dtype):
    x = draw(dtype, 16)
    out = torch.full((16,), 7.0, dtype=dtype)
    masked[(1,)](x, out, 10, SIZE=16)
    assert torch.equal(out[:10], x[:10] * 2)
    assert out[10] == -4.0
    assert bool((out[11:] == 7.0).all())


@triton.jit
def atomic(x_ptr, out_ptr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    tl.atomic_add(out_ptr + at % 4, tl.load(x_ptr + at), mask=at < 12)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32], ids=str)
def test_atomic_additions_to_one_address_all_count(dtype):
    x = torch.arange(16, dtype=dtype)
    out = torch.ones(4, dtype=dtype)
    atomic[(1,)](x, out, SIZE=16)
    assert out.tolist() == [1 + 0 + 4 + 8, 1 + 1 + 5 + 9, 1 + 2 + 6 + 10, 1 + 3 + 7 + 11]


@triton.jit
def block_pointer(x_ptr, out_ptr, rows, columns, SIZE: tl.constexpr):
    x = tl.make_block_ptr(x_ptr, (rows, columns), (columns, 1), (0, 0), (SIZE, SIZE), (1, 0))
    y = tl.make_block_ptr(out_ptr, (rows, columns), (columns, 1), (0, 0), (SIZE, SIZE), (1, 0))
    tl.store(y, tl.load(x, boundary_check=(0, 1)) * 2, boundary_check=(0, 1))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_block_pointers_respect_their_bounds(dtype):
    x = draw(dtype, 5, 7)
    out = torch.zeros(6, 7, dtype=dtype)
    block_pointer[(1,)](x, out, 5, 7, SIZE=8)
    assert torch.equal(out[:5], x * 2)
    assert bool((out[5] == 0).all())


@triton.jit
def rowwise(x_ptr, out_ptr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    x = tl.load(x_ptr + at)
    tl.store(out_ptr + at, tl.cumsum(x, 0).to(tl.float32) + tl.max(x, 0))


def test_running_sums_and_maxima_promote_bfloat16():
    x = draw(torch.bfloat16, N)
    out = torch.empty(N)
    rowwise[(1,)](x, out, SIZE=N)
    assert torch.allclose(out, x.float().cumsum(0) + x.float().max(), rtol=1e-5, atol=1e-4)


@triton.autotune(configs=[triton.Config({"SIZE": 16}), triton.Config({"SIZE": 32})], key=["count"])
@triton.jit
def tuned(x_ptr, count, SIZE: tl.constexpr):
    at = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    tl.store(x_ptr + at, at.to(tl.float32), mask=at < count)


def test_autotuned_kernels_run_their_first_configuration_and_say_so(capsys):
    x = torch.empty(40)
    tuned[lambda meta: (triton.cdiv(40, meta["SIZE"]),)](x, 40)
    assert torch.equal(x, torch.arange(40.0))
    assert "2 configurations" in capsys.readouterr().err


@triton.jit
def hashed(out_ptr, factor, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    tl.store(out_ptr + at, (at + 2147483647) * factor)


def test_32_bit_integers_wrap_round_as_they_do_in_compiled_kernels():
    out = torch.empty(N, dtype=torch.int32)
    hashed[(1,)](out, 3, SIZE=N)
    exact = (torch.arange(N) + 2147483647) * 3
    assert torch.equal(out, exact.to(torch.int32))
