"""Floating-point formats as GPUs have them: how they are kept, how values are rounded to them.

NumPy has no bfloat16 and no 8-bit formats; ml_dtypes has, and rounds to nearest even. What NVIDIA's
conversions do besides was read off PTX, *Instruction Set*, `cvt`, and off what Triton 3.7.1 compiles
for sm_90:

- to `float8e4nv` and `float8e5` `cvt.rn.satfinite` is used: what is too large, infinities too, becomes
  the largest finite number, and NaN becomes 0x7f;
- towards zero float32 becomes float16 and bfloat16 (`cvt.rz`), and `float8e5` by way of float16, whose
  upper byte it is; nothing else rounds so;
- `float8e4b15` is made and read by integer instructions of Triton's own, and has neither NaN nor
  infinity;
- matrix products of float32 in tf32 take the operands as they are (no `cvt` before the `mma`), of which
  tensor cores ignore the lowest 13 bits: they truncate. "tf32x3" and "bf16x3" split operands by
  `cvt.rna` (nearest, ties away from zero) and `cvt.rn`.

Runs inside the sandbox.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import triton.language as tl
from triton._C.libtriton import ir

Array = np.ndarray[Any, Any]

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOAT16, FLOAT32 = np.dtype(np.float16), np.dtype(np.float32)
E4M3, E5M2 = np.dtype(ml_dtypes.float8_e4m3fn), np.dtype(ml_dtypes.float8_e5m2)
HALVES = (BFLOAT16, FLOAT16)
FLOAT8 = (E4M3, E5M2)

_UINT8, _UINT16, _UINT64 = np.dtype(np.uint8), np.dtype(np.uint16), np.dtype(np.uint64)
# Kept under numbers, which are compared quickly: this is asked at every operation.
_RAW: dict[int, np.dtype[Any]] = {BFLOAT16.num: _UINT16, E4M3.num: _UINT8, E5M2.num: _UINT8}
_LARGEST = {E4M3.num: 448.0, E5M2.num: 57344.0}
_NAN8 = 0x7F

_NUMPY: dict[Any, np.dtype[Any]] = {
    tl.int1: np.dtype(bool),
    tl.float16: FLOAT16,
    tl.float32: FLOAT32,
    tl.float64: np.dtype(np.float64),
    tl.bfloat16: BFLOAT16,
    tl.float8e4nv: E4M3,
    tl.float8e5: E5M2,
    # Bits without a meaning to NumPy.
    tl.float8e4b15: _UINT8,
    tl.float8e4b8: _UINT8,
    tl.float8e5b16: _UINT8,
    **{
        getattr(tl, f"{sign}int{n}"): np.dtype(f"{sign}int{n}")
        for sign in ("", "u")
        for n in (8, 16, 32, 64)
    },
}
OF_AMD = (tl.float8e4b8, tl.float8e5b16)
OF_AMD_ONLY = (
    "float8e4b8 and float8e5b16 (torch.float8_e4m3fnuz and float8_e5m2fnuz) are formats of AMD's GPUs, "
    "which no NVIDIA GPU has: use tl.float8e4nv (torch.float8_e4m3fn) or tl.float8e5 (torch.float8_e5m2)"
)
NO_ARITHMETIC = (
    "no GPU computes in 8-bit floating point but in tl.dot, and this does not compile: convert with "
    ".to(tl.float32) first"
)


def numpy_dtype(dtype: Any) -> np.dtype[Any]:
    """The NumPy dtype in which values of a Triton dtype are kept; pointers are 64-bit integers."""
    if isinstance(dtype, tl.block_type):
        dtype = dtype.element_ty
    if isinstance(dtype, tl.pointer_type):
        return _UINT64
    return _NUMPY[dtype]


def raw_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of the same size that the interpreter's C++ side knows."""
    return _RAW.get(dtype.num, dtype)


def raw(array: Array) -> Array:
    """The same bits in a dtype that the interpreter's C++ side knows."""
    dtype = _RAW.get(array.dtype.num)
    return array if dtype is None else np.ascontiguousarray(array).view(dtype)


def nearest(values: Array, dtype: np.dtype[Any]) -> Any:
    """`values` rounded to nearest even as `cvt.rn` does; to 8 bits also saturated (`.satfinite`)."""
    largest = _LARGEST.get(dtype.num)
    if largest is None:
        return values.astype(dtype)
    values = np.ascontiguousarray(values)
    rounded = np.clip(values, -largest, largest).astype(dtype)
    rounded.view(np.uint8)[np.isnan(values)] = _NAN8
    return rounded


def towards_zero(values: Array, dtype: np.dtype[Any]) -> Any:
    """float32 `values` as float16 or bfloat16, rounded towards zero as `cvt.rz` does."""
    rounded = np.ascontiguousarray(values).astype(dtype)
    too_far = np.abs(rounded.astype(np.float32)) > np.abs(values)
    rounded.view(np.uint16)[too_far] -= 1
    return rounded


def truncated_to_tf32(values: Array) -> Any:
    """float32 `values` as tensor cores read them in tf32: 10 bits of mantissa, the rest cut off."""
    return (np.ascontiguousarray(values).view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)


def nearest_tf32(values: Array) -> Array:
    """float32 `values` rounded to tf32 as `cvt.rna.tf32` does: to nearest, ties away from zero."""
    bits = np.ascontiguousarray(values).view(np.uint32)
    rounded = ((bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)
    return np.where(np.isfinite(values), rounded, values)


def nearest_bf16(values: Array) -> Array:
    """float32 `values` rounded to bfloat16, in float32."""
    return values.astype(BFLOAT16).astype(np.float32)


def converted(values: Array, source: Any, target: Any, mode: Any) -> Any:
    """`values` of Triton dtype `source` in `target`, one of the two 8 bits wide or `mode` given.

    Raises:
        TypeError: GPUs have no such conversion; the message says what to do.
    """
    if source in OF_AMD or target in OF_AMD:
        raise TypeError(OF_AMD_ONLY)
    if tl.float8e4b15 in (source, target):
        return _converted_e4b15(values, source, target)
    if mode == ir.ROUNDING_MODE.RTZ:
        return _cut(values, source, target)
    if target.primitive_bitwidth == 8 and source.primitive_bitwidth in (8, 64):
        raise TypeError(_no_conversion(source, target))
    return nearest(values, numpy_dtype(target))


def _cut(values: Array, source: Any, target: Any) -> Any:
    if source == tl.float32 and target in (tl.float16, tl.bfloat16):
        return towards_zero(values, numpy_dtype(target))
    if source == tl.float32 and target == tl.float8e5:
        return (towards_zero(values, FLOAT16).view(np.uint16) >> 8).astype(np.uint8).view(E5M2)
    raise TypeError(_no_conversion(source, target, ' rounding towards zero ("rtz")'))


def _no_conversion(source: Any, target: Any, how: str = "") -> str:
    return (
        f"no GPU converts {source} to {target}{how}, and it does not compile: go by way of float32"
    )


def _converted_e4b15(values: Array, source: Any, target: Any) -> Any:
    """As Triton's convert_custom_float8 does it, in the same integer operations."""
    if source == tl.float8e4b15:
        if target not in (tl.float16, tl.float32):
            raise TypeError(f"float8e4b15 converts to float16 and float32 only, not to {target}")
        bits = values.astype(np.uint16) << 8
        half = (((bits & 0x7F00) >> 1) | (bits & 0x8000)).view(np.float16)
        return half.astype(numpy_dtype(target))
    if source not in (tl.float16, tl.float32):
        raise TypeError(f"only float16 and float32 convert to float8e4b15, not {source}")
    half = towards_zero(values, FLOAT16) if source == tl.float32 else np.ascontiguousarray(values)
    magnitude = np.fmin(np.abs(half), np.float16(1.75)).view(np.uint16)
    bits = (magnitude * np.uint16(2) + np.uint16(0x80)) | (half.view(np.uint16) & np.uint16(0x8000))
    return (bits >> 8).astype(np.uint8)
