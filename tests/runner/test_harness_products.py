"""Matrix products of every dtype and precision in the patched interpreter."""

import pytest
import torch
import triton
import triton.language as tl

from runner.harness import interpreter

interpreter.install()

M, K, N = 16, 64, 32


def draw(*shape, seed=0, dtype=torch.float32):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


@triton.jit
def dot(
    a_ptr,
    b_ptr,
    d_ptr,
    out_ptr,
    M: tl.constexpr,
    K: tl.constexpr,
    N: tl.constexpr,
    PRECISION: tl.constexpr,
    DTYPE: tl.constexpr,
):
    m, k, n = tl.arange(0, M), tl.arange(0, K), tl.arange(0, N)
    a = tl.load(a_ptr + m[:, None] * K + k[None, :])
    b = tl.load(b_ptr + k[:, None] * N + n[None, :])
    d = tl.load(d_ptr + m[:, None] * N + n[None, :])
    product = tl.dot(a, b, d, input_precision=PRECISION, out_dtype=DTYPE)
    tl.store(out_ptr + m[:, None] * N + n[None, :], product)


def product_of(a, b, d=None, precision=None, name=tl.float32):
    d = torch.zeros(M, N) if d is None else d
    out = torch.empty_like(d)
    dot[(1,)](a, b, d, out, M=M, K=K, N=N, PRECISION=precision, DTYPE=name)
    return out


def cut(x):
    """float32 with 10 bits of mantissa, the rest cut off."""
    return (x.view(torch.int32) & ~0x1FFF).view(torch.float32)


@pytest.mark.parametrize("precision", [None, "tf32"])
def test_float32_operands_are_cut_to_tf32_unless_asked_otherwise(precision):
    a, b, d = draw(M, K), draw(K, N, seed=1), draw(M, N, seed=2)
    found = product_of(a, b, d, precision).double()
    cut_down = cut(a).double() @ cut(b).double() + d
    assert torch.allclose(found, cut_down, rtol=1e-6, atol=1e-5)
    assert float((found - (a.double() @ b.double() + d)).abs().max()) > 1e-3


@pytest.mark.parametrize(
    ("precision", "unit"),
    [("ieee", 2**-24), ("tf32x3", 2**-21), ("bf16x6", 2**-22), ("bf16x3", 2**-15)],
)
def test_finer_precisions_are_as_fine_as_their_parts(precision, unit):
    a, b = draw(M, K), draw(K, N, seed=1)
    exact = a.double() @ b.double()
    sizes = a.double().abs() @ b.double().abs()
    error = (product_of(a, b, precision=precision).double() - exact).abs()
    assert bool((error <= 8 * unit * sizes).all())


def test_infinities_stay_so_in_products_of_parts():
    a, b = torch.ones(M, K), torch.ones(K, N)
    a[0, 0] = float("inf")
    for precision in ("tf32", "tf32x3", "bf16x3", "ieee"):
        found = product_of(a, b, precision=precision)
        assert bool((found[0] == float("inf")).all())
        assert bool((found[1:] == K).all())


@pytest.mark.parametrize("right", [torch.float8_e4m3fn, torch.float8_e5m2], ids=str)
@pytest.mark.parametrize("left", [torch.float8_e4m3fn, torch.float8_e5m2], ids=str)
def test_8_bit_products_are_exact_and_summed_in_float32(left, right):
    a, b, d = draw(M, K, dtype=left), draw(K, N, seed=1, dtype=right), draw(M, N, seed=2)
    expected = a.float() @ b.float() + d
    assert torch.allclose(product_of(a, b, d), expected, rtol=1e-6, atol=1e-5)


def test_a_float16_accumulator_is_rounded_and_not_the_products():
    a, b = draw(M, K, dtype=torch.float16), draw(K, N, seed=1, dtype=torch.float16)
    d = draw(M, N, seed=2, dtype=torch.float16)
    expected = a.double() @ b.double() + d.double()
    found = product_of(a, b, d, name=tl.float16)
    assert float((found.double() - expected).abs().max()) <= 2**-10 * float(expected.abs().max())


def test_integers_are_multiplied_without_loss():
    a = torch.randint(-128, 128, (M, K), dtype=torch.int8)
    b = torch.randint(-128, 128, (K, N), dtype=torch.int8)
    found = product_of(a, b, torch.zeros(M, N, dtype=torch.int32), name=tl.int32)
    assert torch.equal(found.long(), a.long() @ b.long())


def test_products_too_short_for_tensor_cores_are_refused_as_by_the_compiler():
    with pytest.raises(Exception, match=r"K >= 16"):
        dot[(1,)](
            *(torch.ones(16, 16) for _ in range(4)),
            M=M,
            K=8,
            N=N,
            PRECISION=None,
            DTYPE=tl.float32,
        )


@triton.jit
def scaled(
    a_ptr,
    a_scale_ptr,
    b_ptr,
    b_scale_ptr,
    out_ptr,
    M: tl.constexpr,
    N: tl.constexpr,
    KA: tl.constexpr,
    KB: tl.constexpr,
    RUNS: tl.constexpr,
    A: tl.constexpr,
    B: tl.constexpr,
    SCALED_RIGHT: tl.constexpr,
):
    m, n, runs = tl.arange(0, M), tl.arange(0, N), tl.arange(0, RUNS)
    a = tl.load(a_ptr + m[:, None] * KA + tl.arange(0, KA)[None, :])
    b = tl.load(b_ptr + tl.arange(0, KB)[:, None] * N + n[None, :])
    a_scale = tl.load(a_scale_ptr + m[:, None] * RUNS + runs[None, :])
    if SCALED_RIGHT:
        b_scale = tl.load(b_scale_ptr + n[:, None] * RUNS + runs[None, :])
        product = tl.dot_scaled(a, a_scale, A, b, b_scale, B)
    else:
        product = tl.dot_scaled(a, a_scale, A, b, None, B)
    tl.store(out_ptr + m[:, None] * N + n[None, :], product)


FORMATS = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2, "bf16": torch.bfloat16}
FORMATS |= {"fp16": torch.float16}
E2M1 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6])


def microscaled(kind, shape, axis, run, seed):
    """What a kernel is given, and the values it stands for, along `axis` in packs or runs."""
    generator = torch.Generator().manual_seed(seed)
    if kind == "e2m1":
        codes = torch.randint(0, 16, shape, generator=generator, dtype=torch.uint8)
        low, high = (codes.index_select(axis, torch.arange(i, shape[axis], 2)) for i in (0, 1))
        given, values = low | high << 4, E2M1[codes.long()]
    else:
        given = torch.randn(shape, generator=generator).to(FORMATS[kind])
        values = given.float()
    values = values.movedim(axis, -1)
    scales_shape = (values.shape[0], values.shape[1] // run)
    if run == 16:
        scales = torch.rand(scales_shape, generator=generator).to(torch.float8_e4m3fn)
        factors = scales.float()
    else:
        scales = torch.randint(120, 135, scales_shape, generator=generator, dtype=torch.uint8)
        factors = torch.exp2(scales.float() - 127)
    wide = (values * factors.repeat_interleave(run, 1)).movedim(-1, axis)
    return given, scales, wide, values.movedim(-1, axis)


@pytest.mark.parametrize(
    ("left", "right", "run"),
    [
        ("e4m3", "e4m3", 32),
        ("e5m2", "e4m3", 32),
        ("e2m1", "e2m1", 32),
        ("e2m1", "e2m1", 16),
        ("e4m3", "e2m1", 32),
        ("e4m3", "bf16", 32),
        ("e2m1", "fp16", 32),
    ],
)
def test_microscaled_products_multiply_each_run_by_its_scale(left, right, run):
    a, a_scale, wide_a, _ = microscaled(left, (M, K), 1, run, 0)
    b, b_scale, wide_b, plain_b = microscaled(right, (K, N), 0, run, 1)
    scaled_right = right not in ("bf16", "fp16")
    out = torch.empty(M, N)
    scaled[(1,)](
        a,
        a_scale,
        b,
        b_scale,
        out,
        M=M,
        N=N,
        KA=a.shape[1],
        KB=b.shape[0],
        RUNS=K // run,
        A=left,
        B=right,
        SCALED_RIGHT=scaled_right,
    )
    expected = wide_a.double() @ (wide_b if scaled_right else plain_b).double()
    sizes = wide_a.double().abs() @ (wide_b if scaled_right else plain_b).double().abs()
    assert bool(((out.double() - expected).abs() <= 2e-6 * sizes).all())


def test_a_scale_that_is_not_a_number_makes_its_row_so():
    a, a_scale, _wide, _ = microscaled("e4m3", (M, K), 1, 32, 0)
    b = torch.ones(K, N, dtype=torch.bfloat16)
    a_scale[3, 1] = 255
    out = torch.empty(M, N)
    scaled[(1,)](
        *(a, a_scale, b, a_scale, out),
        M=M,
        N=N,
        KA=K,
        KB=K,
        RUNS=2,
        A="e4m3",
        B="bf16",
        SCALED_RIGHT=False,
    )
    assert bool(out[3].isnan().all())
    assert not bool(out[:3].isnan().any())
