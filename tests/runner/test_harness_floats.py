"""What is 8 bits wide, and how everything is rounded to it, in the patched interpreter; against PyTorch
bit for bit where it does the same as a GPU."""

import pytest
import torch
import triton
import triton.language as tl

from runner.harness import interpreter

interpreter.install()

FLOAT8 = {torch.float8_e4m3fn: tl.float8e4nv, torch.float8_e5m2: tl.float8e5}
LARGEST = {torch.float8_e4m3fn: 448.0, torch.float8_e5m2: 57344.0}
WIDER = {torch.float32: tl.float32, torch.float16: tl.float16, torch.bfloat16: tl.bfloat16}
EVERY_8 = torch.arange(256, dtype=torch.uint8)
EVERY_16 = torch.arange(1 << 16, dtype=torch.int32).to(torch.int16)


@triton.jit
def cast(x_ptr, out_ptr, SIZE: tl.constexpr, TO: tl.constexpr, ROUNDING: tl.constexpr = None):
    at = tl.arange(0, SIZE)
    tl.store(out_ptr + at, tl.load(x_ptr + at).to(TO, fp_downcast_rounding=ROUNDING))


def cast_to(x, dtype, name, rounding=None):
    out = torch.empty(x.shape, dtype=dtype)
    cast[(1,)](x, out, SIZE=x.numel(), TO=name, ROUNDING=rounding)
    return out


def same(x, y):
    """Whether all is equal, zeros of one sign, and NaN where the other is NaN."""
    x, y = x.float(), y.float()
    signs = (x.signbit() == y.signbit()) | x.isnan()
    return bool(((x == y) | (x.isnan() & y.isnan())).all() and signs.all())


@pytest.mark.parametrize("wide", WIDER, ids=str)
@pytest.mark.parametrize("narrow", FLOAT8, ids=str)
def test_each_of_the_256_patterns_of_8_bits_is_widened_as_by_pytorch(narrow, wide):
    x = EVERY_8.view(narrow)
    assert same(cast_to(x, wide, WIDER[wide]), x.to(wide))


@pytest.mark.parametrize("wide", WIDER, ids=str)
@pytest.mark.parametrize("narrow", FLOAT8, ids=str)
def test_numbers_are_rounded_to_8_bits_as_by_pytorch_and_saturate_as_on_a_gpu(narrow, wide):
    x = EVERY_16.view(torch.float16).to(wide)
    found = cast_to(x, narrow, FLOAT8[narrow])
    largest = LARGEST[narrow]
    expected = x.float().clamp(-largest, largest).to(narrow)
    assert same(found, expected)
    assert set(found.view(torch.uint8)[x.isnan()].tolist()) == {0x7F}


@pytest.mark.parametrize("narrow", FLOAT8, ids=str)
def test_ties_between_two_8_bit_numbers_go_to_the_even_one(narrow):
    numbers = EVERY_8[:120].view(narrow).float()
    ties = (numbers[1:] + numbers[:-1]) / 2
    ties = torch.nn.functional.pad(ties, (0, 128 - ties.numel()))
    assert same(cast_to(ties, narrow, FLOAT8[narrow]), ties.to(narrow))


@pytest.mark.parametrize(
    ("dtype", "name", "bits"), [(torch.float16, tl.float16, 13), (torch.bfloat16, tl.bfloat16, 16)]
)
def test_rounding_towards_zero_never_goes_away_from_it(dtype, name, bits):
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(1024, generator=generator) * torch.logspace(-9, 6, 1024)
    x[:3] = torch.tensor([float("inf"), float("-inf"), float("nan")])
    found = cast_to(x, dtype, name, "rtz").float()
    normal = found.abs() >= torch.finfo(dtype).tiny
    cut = (x.view(torch.int32) >> bits << bits).view(torch.float32)
    finite = normal & x.isfinite() & (x.abs() < torch.finfo(dtype).max)
    assert torch.equal(found[finite], cut[finite])
    assert bool((found.abs() <= x.abs())[3:].all())
    assert found[0] == float("inf")
    assert found[1] == float("-inf")
    assert bool(found[2].isnan())


def test_float32_becomes_float8e5_towards_zero_by_way_of_float16():
    x = torch.tensor([1.0, 1.24, 1.26, -1.49, 1e9, float("inf"), 3e-5, 0.0])
    found = cast_to(x, torch.float8_e5m2, tl.float8e5, "rtz").float()
    expected = torch.tensor([1.0, 1.0, 1.25, -1.25, 57344.0, float("inf"), 2**-15 * 0.75, 0.0])
    expected[6] = 2.0**-16  # of the two subnormals around 3e-5 the nearer to zero
    assert torch.equal(found, expected)


@pytest.mark.parametrize(
    ("source", "target", "rounding"),
    [
        (torch.float8_e5m2, tl.float8e4nv, None),
        (torch.float64, tl.float8e4nv, None),
        (torch.float32, tl.float8e4nv, "rtz"),
        (torch.float16, tl.float8e5, "rtz"),
        (torch.float64, tl.bfloat16, "rtz"),
    ],
    ids=str,
)
def test_conversions_that_no_gpu_has_say_so(source, target, rounding):
    with pytest.raises(Exception, match=r"no GPU converts .* by way of float32"):
        cast_to(torch.ones(16).to(source), torch.uint8, target, rounding)


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fnuz, torch.float8_e5m2fnuz], ids=str)
def test_formats_of_other_makers_name_those_to_use(dtype):
    with pytest.raises(Exception, match=r"AMD.*float8e4nv"):
        cast_to(torch.ones(16).to(dtype), torch.float32, tl.float32)


@pytest.mark.parametrize("name", [tl.float8e4b8, tl.float8e5b16], ids=str)
def test_nothing_is_converted_to_formats_of_other_makers(name):
    with pytest.raises(Exception, match=r"AMD.*float8e4nv"):
        cast_to(torch.ones(16), torch.uint8, name)


@triton.jit
def through_e4b15(x_ptr, bits_ptr, out_ptr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    narrow = tl.load(x_ptr + at).to(tl.float8e4b15)
    tl.store(bits_ptr + at, narrow.to(tl.uint8, bitcast=True))
    tl.store(out_ptr + at, narrow.to(tl.float32))


def test_float8e4b15_has_15_for_its_bias_and_ends_at_1_75():
    x = torch.tensor([0.0, 1.0, -1.0, 1.75, 9.0, -9.0, 0.5, 2.0**-14])
    bits, out = torch.empty(8, dtype=torch.uint8), torch.empty(8)
    through_e4b15[(1,)](x, bits, out, SIZE=8)
    assert torch.equal(out, x.clamp(-1.75, 1.75))
    assert bits.tolist() == [0, 0x78, 0xF8, 0x7E, 0x7E, 0xFE, 0x70, 0x08]


@triton.jit
def arithmetic(x_ptr, out_ptr, OP: tl.constexpr):
    at = tl.arange(0, 16)
    x = tl.load(x_ptr + at)
    if OP == "add":
        tl.store(out_ptr + at, x + x)
    elif OP == "negate":
        tl.store(out_ptr + at, -x)
    elif OP == "compare":
        tl.store(out_ptr + at, x > x)
    elif OP == "sum":
        tl.store(out_ptr, tl.sum(x, 0))


@pytest.mark.parametrize("op", ["add", "negate", "compare", "sum"])
@pytest.mark.parametrize("dtype", FLOAT8, ids=str)
def test_8_bit_arithmetic_is_refused_as_compilers_for_gpus_refuse_it(dtype, op):
    with pytest.raises(Exception, match=r"no GPU computes in 8-bit.*tl.float32"):
        arithmetic[(1,)](torch.ones(16).to(dtype), torch.empty(16), OP=op)


@triton.jit
def moved(x_ptr, y_ptr, out_ptr, count):
    at = tl.arange(0, 16)
    x = tl.load(x_ptr + at, mask=at < count, other=-2.0)
    y = tl.load(y_ptr + tl.arange(0, 4)[:, None] * 4 + tl.arange(0, 4)[None, :])
    turned = tl.reshape(tl.trans(y), (16,))
    chosen = tl.where(at % 2 == 0, x, turned)
    tl.store(out_ptr + at, chosen, mask=at < count + 2)


@pytest.mark.parametrize("dtype", FLOAT8, ids=str)
def test_masks_choices_and_transpositions_leave_8_bits_as_they_are(dtype):
    x, y = EVERY_8[40:56].view(dtype), EVERY_8[80:96].view(dtype)
    out = torch.full((16,), 7.0).to(dtype)
    moved[(1,)](x, y, out, 12)
    masked = torch.where(torch.arange(16) < 12, x.float(), -2.0)
    turned = y.float().view(4, 4).T.reshape(16)
    expected = torch.where(torch.arange(16) % 2 == 0, masked, turned)
    expected[14:] = 7.0
    assert torch.equal(out.float(), expected)


@triton.jit
def constant(out_ptr, VALUE: tl.constexpr, DTYPE: tl.constexpr):
    tl.store(out_ptr + tl.arange(0, 16), tl.full((16,), VALUE, DTYPE))


@pytest.mark.parametrize("value", [0.0, 1.5, -3.0, 1e9])
@pytest.mark.parametrize("dtype", FLOAT8, ids=str)
def test_8_bit_constants_are_rounded_like_all_else(dtype, value):
    out = torch.empty(16, dtype=dtype)
    constant[(1,)](out, VALUE=value, DTYPE=FLOAT8[dtype])
    assert torch.equal(out.float(), torch.full((16,), min(value, LARGEST[dtype])))


@triton.jit
def extreme(x_ptr, y_ptr, out_ptr, OP: tl.constexpr):
    at = tl.arange(0, 4)
    x = tl.load(x_ptr + at)
    y = tl.load(y_ptr + at)
    if OP == "maximum":
        z = tl.maximum(x, y)
    elif OP == "minimum":
        z = tl.minimum(x, y)
    elif OP == "maximum_of_all":
        z = tl.maximum(x, y, propagate_nan=tl.PropagateNan.ALL)
    elif OP == "clamp":
        z = tl.clamp(x, -1.0, 1.0)
    tl.store(out_ptr + at, z)


NAN = float("nan")


@pytest.mark.parametrize(
    ("op", "y", "expected"),
    [
        ("maximum", [2.0, NAN, 2.0, NAN], [2.0, 1.0, 2.0, NAN]),
        ("minimum", [2.0, NAN, 2.0, NAN], [1.0, 1.0, 2.0, NAN]),
        ("maximum_of_all", [2.0, NAN, 2.0, NAN], [2.0, NAN, NAN, NAN]),
        ("clamp", [0.0, 0.0, 0.0, 0.0], [1.0, 1.0, -1.0, -1.0]),
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_numbers_win_over_nan_unless_asked_otherwise(dtype, op, y, expected):
    x = torch.tensor([1.0, 1.0, NAN, NAN])
    out = torch.empty(4, dtype=dtype)
    extreme[(1,)](x.to(dtype), torch.tensor(y, dtype=dtype), out, OP=op)
    assert same(out, torch.tensor(expected))
