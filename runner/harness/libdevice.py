"""NVIDIA's libdevice for the interpreter: the functions that NumPy and PyTorch have, too.

Kernels call `triton.language.extra.libdevice` or `triton.language.extra.cuda.libdevice`; which function
takes which dtypes is decided by Triton's own table, as on a GPU. Results are those of the exact
function, rounded once or nearly so: also where a GPU's `fast_` variants are coarser. Source: NVIDIA,
*Libdevice User's Guide*. Runs inside the sandbox.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import torch
from triton.language.extra import libdevice as portable
from triton.language.extra.cuda import libdevice as cuda
from triton.runtime import interpreter

from . import bits, floats, unsupported
from .floats import Array

Function = Callable[..., Any]


def install() -> None:
    """Make both modules callable from interpreted kernels."""
    functions = {
        name: _interpreted(name, function)
        for name, function in inspect.getmembers(cuda, inspect.isfunction)
        if function.__module__.endswith("libdevice") or hasattr(function, "__triton_builtin__")
    }
    for name, function in functions.items():
        setattr(cuda, name, function)
    _replace(portable, functions)
    interpreter.InterpreterBuilder.create_extern_elementwise = _extern_elementwise


def _replace(module: ModuleType, functions: dict[str, Function]) -> None:
    for name, _ in inspect.getmembers(module, inspect.isfunction):
        setattr(module, name, functions.get(name) or _missing(name))


def _interpreted(name: str, function: Function) -> Function:
    def call(*args: Any, _semantic: Any = None) -> Any:
        try:
            return function(*args, _semantic=interpreter.interpreter_semantic)
        except KeyError as error:
            given = ", ".join(str(getattr(arg, "dtype", type(arg).__name__)) for arg in args)
            raise TypeError(
                f"libdevice.{name} has no variant for ({given}), on a GPU either: most of its functions "
                "take float32 or float64, so convert with .to(tl.float32) first"
            ) from error

    return call


def _missing(name: str) -> Function:
    def call(*args: Any, **options: Any) -> Any:
        raise unsupported.NeedsHardware(
            f"libdevice.{name} exists on GPUs of other makers only; NVIDIA's have no such function"
        )

    return call


def _extern_elementwise(
    self: Any,
    library: str,
    path: str,
    symbol: str,
    arguments: list[Any],
    returned: Any,
    is_pure: bool,
) -> Any:
    function = _found(symbol)
    if function is None:
        raise unsupported.NeedsHardware(
            f"{symbol.removeprefix('__nv_') or symbol} is not simulated by the interpreter that checks "
            "kernels here; it runs on NVIDIA GPUs only. Use a function of tl.math, or another of "
            "libdevice (rounding to nearest instead of towards a side, for example)"
        )
    dtype = floats.numpy_dtype(returned.scalar)
    result = np.asarray(function(*(argument.data for argument in arguments)))
    return interpreter.TensorHandle(result.astype(dtype, copy=False), returned.scalar)


def _of_torch(function: Callable[[torch.Tensor], torch.Tensor]) -> Function:
    """A function that PyTorch has, computed in float64."""

    def call(x: Array) -> Array:
        wide = torch.from_numpy(np.ascontiguousarray(x).astype(np.float64))
        found: Array = function(wide).numpy()
        return found

    return call


def _in_float64(function: Function) -> Function:
    """A function of several steps, each of which would round in float32."""

    def call(*args: Array) -> Any:
        wide = (a.astype(np.float64) if a.dtype == np.float32 else a for a in args)
        return function(*wide)

    return call


def _half_away_from_zero(x: Array) -> Array:
    whole = np.trunc(x)
    up = np.abs(x - whole) >= 0.5
    rounded: Array = np.where(up, whole + np.copysign(1, x), whole)
    return rounded


def _remainder(x: Array, y: Array) -> Array:
    def one(a: float, b: float) -> float:
        return math.remainder(a, b) if b and math.isfinite(a) and not math.isnan(b) else math.nan

    found: Array = np.vectorize(one, otypes=[np.float64])(x, y)
    return found


def _gamma(x: Array) -> Array:
    def one(a: float) -> float:
        try:
            return math.gamma(a)
        except OverflowError:
            return math.inf
        except ValueError:
            return math.copysign(math.inf, a) if a == 0 else math.nan

    found: Array = np.vectorize(one, otypes=[np.float64])(x)
    return found


def _norm(*args: Array) -> Any:
    return np.sqrt(sum(a * a for a in args))


def _exponent(x: Array) -> Array:
    exponent = np.frexp(x)[1].astype(np.float64) - 1
    found: Array = np.select(
        [x == 0, np.isinf(x), np.isnan(x)], [-np.inf, np.inf, np.nan], exponent
    )
    return found


def _whole_exponent(x: Array) -> Array:
    smallest, largest = np.iinfo(np.int32).min, np.iinfo(np.int32).max
    special = [x == 0, np.isnan(x), np.isinf(x)]
    return np.select(special, [smallest, smallest, largest], np.frexp(x)[1] - 1)


def _bits_as(dtype: Any) -> Function:
    return lambda x: np.ascontiguousarray(x).view(dtype)


_SAME_NAME = (
    "floor ceil trunc rint exp exp2 log log2 log10 log1p expm1 sin cos tan sinh cosh tanh sqrt cbrt "
    "hypot copysign nextafter fmod fabs isnan isinf signbit"
)
_FUNCTIONS: dict[str, Function] = {
    **{name: getattr(np, name) for name in _SAME_NAME.split()},
    **{
        f"a{name}": getattr(np, f"arc{name}")
        for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")
    },
    "atan2": np.arctan2,
    "abs": np.abs,
    "llabs": np.abs,
    "nearbyint": np.rint,
    "llrint": np.rint,
    "round": _half_away_from_zero,
    "llround": _half_away_from_zero,
    "finite": np.isfinite,
    "exp10": _in_float64(lambda x: np.power(10.0, x)),
    "rsqrt": _in_float64(lambda x: 1 / np.sqrt(x)),
    "rcbrt": _in_float64(lambda x: 1 / np.cbrt(x)),
    "rhypot": _in_float64(lambda x, y: 1 / np.hypot(x, y)),
    "norm3d": _in_float64(_norm),
    "norm4d": _in_float64(_norm),
    "rnorm3d": _in_float64(lambda *args: 1 / _norm(*args)),
    "rnorm4d": _in_float64(lambda *args: 1 / _norm(*args)),
    "sinpi": _in_float64(lambda x: np.sin(np.pi * np.fmod(x, 2.0))),
    "cospi": _in_float64(lambda x: np.cos(np.pi * np.fmod(x, 2.0))),
    "pow": _in_float64(np.power),
    "powi": _in_float64(np.power),
    "fma": _in_float64(lambda x, y, z: x * y + z),
    "fdim": lambda x, y: np.where(np.isnan(x) | np.isnan(y), x + y, np.fmax(x - y, 0)),
    "remainder": _remainder,
    "ldexp": np.ldexp,
    "scalbn": np.ldexp,
    "logb": _exponent,
    "ilogb": _whole_exponent,
    "saturate": lambda x: np.fmin(np.fmax(x, np.float32(0)), np.float32(1)),
    "erf": _of_torch(torch.special.erf),
    "erfc": _of_torch(torch.special.erfc),
    "erfcx": _of_torch(torch.special.erfcx),
    "erfinv": _of_torch(torch.special.erfinv),
    "erfcinv": _of_torch(lambda x: -torch.special.ndtri(x / 2) / math.sqrt(2)),
    "normcdf": _of_torch(torch.special.ndtr),
    "normcdfinv": _of_torch(torch.special.ndtri),
    "lgamma": _of_torch(torch.special.gammaln),
    "tgamma": _gamma,
    "j0": _of_torch(torch.special.bessel_j0),
    "j1": _of_torch(torch.special.bessel_j1),
    "y0": _of_torch(torch.special.bessel_y0),
    "y1": _of_torch(torch.special.bessel_y1),
    "cyl_bessel_i0": _of_torch(torch.special.i0),
    "cyl_bessel_i1": _of_torch(torch.special.i1),
    "fast_fdividef": np.divide,
    "clz": bits.leading_zeros,
    "clzll": bits.leading_zeros,
    "popc": lambda x: np.bitwise_count(bits.unsigned(x)),
    "popcll": lambda x: np.bitwise_count(bits.unsigned(x)),
    "ffs": bits.first_set,
    "ffsll": bits.first_set,
    "brev": bits.reversed_bits,
    "brevll": bits.reversed_bits,
    **dict.fromkeys(("mulhi", "umulhi", "mul64hi", "umul64hi"), bits.high_product),
    **dict.fromkeys(("mul24", "umul24"), lambda x, y: bits.low_24(x) * bits.low_24(y)),
    **dict.fromkeys(("sad", "usad"), lambda x, y, z: np.where(x > y, x - y, y - x) + z),
    **dict.fromkeys(("hadd", "uhadd"), lambda x, y: (x & y) + ((x ^ y) >> x.dtype.type(1))),
    **dict.fromkeys(("rhadd", "urhadd"), lambda x, y: (x | y) - ((x ^ y) >> x.dtype.type(1))),
    **dict.fromkeys(("int_as_float", "uint_as_float"), _bits_as(np.float32)),
    "float_as_int": _bits_as(np.int32),
    "float_as_uint": _bits_as(np.uint32),
    "longlong_as_double": _bits_as(np.float64),
    "double_as_longlong": _bits_as(np.int64),
}
_FUNCTIONS |= {
    f"fast_{name}": _FUNCTIONS[name]
    for name in ("sin", "cos", "tan", "log", "log2", "log10", "exp", "exp10", "pow")
}
_ROUNDED = {
    "add": _in_float64(np.add),
    "sub": _in_float64(np.subtract),
    "mul": _in_float64(np.multiply),
    "div": _in_float64(np.divide),
    "rcp": _in_float64(lambda x: 1 / x),
    "sqrt": _in_float64(np.sqrt),
    "rsqrt": _FUNCTIONS["rsqrt"],
}
_TO_WHOLE = {"rn": np.rint, "rz": np.trunc, "rd": np.floor, "ru": np.ceil}
_ARITHMETIC = re.compile(r"([fd])(add|sub|mul|div|rcp|sqrt|rsqrt)_rn")
_CONVERSION = re.compile(r"(float|double|int|uint|ll|ull)2(float|double|int|uint|ll|ull)_(r[nzdu])")


def _found(symbol: str) -> Function | None:
    """What computes a symbol of libdevice ("__nv_tanhf"), if anything here does."""
    name = symbol.removeprefix("__nv_")
    if found := _ARITHMETIC.fullmatch(name):
        return _ROUNDED[found[2]]
    if found := _CONVERSION.fullmatch(name):
        return _conversion(found[1], found[2], found[3])
    if name in ("fmaf_rn", "fma_rn"):
        return _FUNCTIONS["fma"]
    for plain in (name, name[:-1]):  # "tanh", "tanhf"; "isnand"
        if plain in _FUNCTIONS and (plain == name or name[-1] in "fd"):
            return _FUNCTIONS[plain]
    return None


def _conversion(source: str, target: str, mode: str) -> Function | None:
    if target in ("float", "double"):  # from integers, or to the narrower float
        return (lambda x: x) if mode == "rn" or target == "double" else None
    limits = np.iinfo({"int": "i4", "uint": "u4", "ll": "i8", "ull": "u8"}[target])

    def convert(x: Array) -> Array:
        """To the nearest that there is; NaN is 0 (of 64 bits, on some GPUs, the smallest)."""
        whole = _TO_WHOLE[mode](x.astype(np.float64))
        fits = (whole >= limits.min) & (whole < float(limits.max))
        inside = np.where(fits, whole, 0).astype(limits.dtype)
        extreme = np.where(whole > 0, limits.max, limits.min).astype(limits.dtype)
        return np.where(fits, inside, np.where(np.isnan(whole), limits.dtype.type(0), extreme))

    return convert
