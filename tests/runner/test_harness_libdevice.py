"""libdevice in the patched interpreter, against PyTorch and Python in float64."""

import math
from collections.abc import Callable

import pytest
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice as portable
from triton.language.extra.cuda import libdevice

from runner.harness import interpreter

interpreter.install()

SIZE = 64
# Values that every function of one argument below is defined for lie between 0 and 1.
SHARES = torch.linspace(0.01, 0.99, SIZE)


@triton.jit
def apply(
    x_ptr,
    y_ptr,
    z_ptr,
    out_ptr,
    SIZE: tl.constexpr,
    COUNT: tl.constexpr,
    FUNCTION: tl.constexpr,
):
    at = tl.arange(0, SIZE)
    x = tl.load(x_ptr + at)
    y = tl.load(y_ptr + at)
    z = tl.load(z_ptr + at)
    if COUNT == 1:
        result = FUNCTION(x)
    elif COUNT == 2:
        result = FUNCTION(x, y)
    else:
        result = FUNCTION(x, y, z)
    tl.store(out_ptr + at, result)


def call(function, *arguments, dtype=None):
    """What `function` makes of tensors in a kernel: one, two or three of them."""
    given = [*arguments, arguments[0], arguments[0]][:3]
    out = torch.empty(arguments[0].shape, dtype=dtype or arguments[0].dtype)
    sizes = {"SIZE": arguments[0].numel(), "COUNT": len(arguments)}
    apply[(1,)](*given, out, **sizes, FUNCTION=function)
    return out


EXACT = {
    **{name: getattr(torch, name) for name in ("exp", "exp2", "log", "log2", "log10", "log1p")},
    **{name: getattr(torch, name) for name in ("expm1", "sin", "cos", "tan", "sinh", "cosh")},
    **{name: getattr(torch, name) for name in ("tanh", "asin", "acos", "atan", "asinh", "atanh")},
    **{name: getattr(torch, name) for name in ("sqrt", "rsqrt", "floor", "ceil", "trunc", "erf")},
    **{name: getattr(torch, name) for name in ("erfc", "erfinv", "lgamma")},
    "erfcx": torch.special.erfcx,
    "erfcinv": lambda x: torch.erfinv(1 - x),
    "normcdf": torch.special.ndtr,
    "normcdfinv": torch.special.ndtri,
    "tgamma": lambda x: torch.lgamma(x).exp(),
    "exp10": lambda x: 10**x,
    "cbrt": lambda x: x ** (1 / 3),
    "rcbrt": lambda x: x ** (-1 / 3),
    "sinpi": lambda x: (math.pi * x).sin(),
    "cospi": lambda x: (math.pi * x).cos(),
    "j0": torch.special.bessel_j0,
    "y1": torch.special.bessel_y1,
    "cyl_bessel_i0": torch.special.i0,
    "fast_expf": torch.exp,
    "fast_logf": torch.log,
    "fast_sinf": torch.sin,
    "rint": torch.round,
    "saturatef": lambda x: x.clamp(0, 1),
    "logb": lambda x: x.log2().floor(),
}


@pytest.mark.parametrize("name", EXACT)
def test_functions_of_one_argument_agree_with_pytorch(name):
    found = call(getattr(libdevice, name), SHARES)
    assert torch.allclose(found.double(), EXACT[name](SHARES.double()), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["exp", "erf", "tanh", "log1p", "rsqrt"])
def test_float64_stays_float64(name):
    found = call(getattr(libdevice, name), SHARES.double())
    assert torch.allclose(found, EXACT[name](SHARES.double()), rtol=1e-14)


BINARY: dict[str, Callable[..., torch.Tensor]] = {
    "pow": torch.pow,
    "atan2": torch.atan2,
    "hypot": torch.hypot,
    "fmod": torch.fmod,
    "copysign": torch.copysign,
    "nextafter": torch.nextafter,
    "fdim": lambda x, y: (x - y).clamp(min=0),
    "remainder": lambda x, y: (x.double() - (x.double() / y.double()).round() * y).float(),
    "add_rn": torch.add,
    "div_rn": torch.div,
    "fast_dividef": torch.div,
}


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_arguments_agree_with_pytorch(name):
    x, y = SHARES * 3, SHARES.flip(0) * (1 if name == "pow" else -2)
    expected = BINARY[name](x, y)
    assert torch.allclose(call(getattr(libdevice, name), x, y), expected, rtol=1e-6, atol=1e-6)


def test_a_fused_multiply_add_rounds_once():
    x = torch.full((16,), 1 + 2**-12)
    z = torch.full((16,), -1.0)
    found = call(libdevice.fma, x, x, z)
    assert float(found[0]) == 2**-11 + 2**-24


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("isnan", [0, 0, 1, 0]),
        ("isinf", [0, 1, 0, 1]),
        ("finitef", [1, 0, 0, 0]),
        ("signbit", [1, 0, 0, 1]),
    ],
)
def test_kinds_of_numbers_are_told(name, expected):
    x = torch.tensor([-1.0, float("inf"), float("nan"), float("-inf")])
    function = getattr(libdevice, name)
    assert call(function, x, dtype=torch.int32).bool().int().tolist() == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("round", [3.0, -3.0, 1.0, -0.0]),
        ("nearbyint", [2.0, -2.0, 1.0, -0.0]),
        ("float2int_rn", [2, -2, 1, 0]),
        ("float2int_rz", [2, -2, 0, 0]),
        ("float2int_ru", [3, -2, 1, 0]),
        ("float2int_rd", [2, -3, 0, -1]),
        ("llround", [3, -3, 1, 0]),
    ],
)
def test_halves_are_rounded_as_asked(name, expected):
    x = torch.tensor([2.5, -2.5, 0.75, -0.25])
    dtype = {"float2int": torch.int32, "llround": torch.int64}.get(name.split("_")[0])
    assert call(getattr(libdevice, name), x, dtype=dtype).tolist() == expected


def test_conversions_to_integers_saturate():
    x = torch.tensor([1e20, -1e20, float("nan"), 7.0])
    found = call(libdevice.float2int_rn, x, dtype=torch.int32)
    assert found.tolist() == [2**31 - 1, -(2**31), 0, 7]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("clz", [32, 31, 0, 8]),
        ("popc", [0, 1, 32, 8]),
        ("ffs", [0, 1, 1, 17]),
        ("brev", [0, -(2**31), -1, 0x0000FF00]),
    ],
)
def test_bits_are_counted_and_turned(name, expected):
    x = torch.tensor([0, 1, -1, 0x00FF0000], dtype=torch.int32)
    assert call(getattr(libdevice, name), x).tolist() == expected


def test_products_of_integers_have_a_high_half():
    x = torch.tensor([2**30, -(2**30)], dtype=torch.int32)
    assert call(libdevice.mulhi, x, x.abs() * 2 - 1).tolist() == [2**29 - 1, -(2**29)]


def test_the_portable_module_is_the_same():
    assert torch.equal(call(portable.tanh, SHARES), call(libdevice.tanh, SHARES))


def test_16_bit_arguments_are_refused_with_what_to_do():
    with pytest.raises(Exception, match=r"tanh has no variant for \(bf16\).*tl.float32"):
        call(libdevice.tanh, SHARES.bfloat16())


@pytest.mark.parametrize(
    ("name", "given"),
    [("add_rz", [SHARES] * 2), ("jn", [SHARES.int(), SHARES]), ("byte_perm", [SHARES.int()] * 3)],
)
def test_what_is_not_simulated_says_so(name, given):
    with pytest.raises(Exception, match="runs on NVIDIA GPUs only"):
        call(getattr(libdevice, name), *given)
