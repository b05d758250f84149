"""Matrix products as tensor cores make them: of rounded operands, accumulated in float32.

Operands of 8 and 16 bits are multiplied exactly. In which order hardware adds is not known, and here it
is NumPy's; a float16 accumulator is rounded once. Runs inside the sandbox.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import triton.language as tl
from triton._C.libtriton import ir
from triton.runtime import interpreter

from . import floats
from .floats import Array

Handle = interpreter.TensorHandle
# How often each operand is split, and how each part of it is rounded.
_SPLITS: dict[Any, tuple[int, Callable[[Array], Array]]] = {
    ir.INPUT_PRECISION.TF32: (1, floats.truncated_to_tf32),
    ir.INPUT_PRECISION.TF32x3: (2, floats.nearest_tf32),
    ir.INPUT_PRECISION.BF16x3: (2, floats.nearest_bf16),
    ir.INPUT_PRECISION.BF16x6: (3, floats.nearest_bf16),
}
PRECISIONS = ("tf32", "tf32x3", "ieee", "bf16x3", "bf16x6")


def dot(self: Any, a: Any, b: Any, d: Any, input_precision: Any, max_num_imprecise_acc: Any) -> Any:
    """The builder's `create_dot`: a @ b + d, for a of [..., M, K] and b of [..., K, N]."""
    left, right, total = a.data, b.data, d.data
    if left.dtype == np.float32:
        product = _of_float32(left, right, input_precision)
    elif left.dtype.kind == "i" or left.dtype == np.float64:
        product = np.matmul(left, right, dtype=total.dtype)
    else:
        product = np.matmul(_wide(left, a.dtype), _wide(right, b.dtype))
    if total.dtype == product.dtype:
        return Handle(product + total, d.dtype.scalar)
    return Handle((product + total.astype(product.dtype)).astype(total.dtype), d.dtype.scalar)


def _wide(values: Array, dtype: Any) -> Any:
    if dtype.scalar in floats.OF_AMD:
        raise TypeError(floats.OF_AMD_ONLY)
    return values.astype(np.float32)


def _of_float32(left: Array, right: Array, precision: Any) -> Any:
    """Products of the parts of each operand, the small ones first, as Triton orders them; where they
    are NaN (a part is infinite, another zero) they are nothing to it."""
    if precision not in _SPLITS:
        return np.matmul(left, right)
    count, rounded = _SPLITS[precision]
    if count == 1:
        return np.matmul(rounded(left), rounded(right))
    lefts, rights = _parts(left, count, rounded), _parts(right, count, rounded)
    pairs = [(i, j) for i in range(count) for j in range(count) if i + j < count]
    small = sum(
        np.matmul(lefts[i], rights[j]) for i, j in sorted(pairs, key=sum, reverse=True)[:-1]
    )
    return np.where(np.isnan(small), np.float32(0), small) + np.matmul(lefts[0], rights[0])


def _parts(values: Array, count: int, rounded: Callable[[Array], Array]) -> list[Array]:
    """`values` as a sum of `count` rounded parts; what is not finite has no small parts."""
    found = []
    for _ in range(count):
        found.append(rounded(values))
        values = np.where(np.isfinite(values), values - found[-1], np.float32(0))
    return found


def formats_by_name(original: Any) -> Any:
    """The language's `dot_scaled`, to which the interpreter hands names of formats as bare strings."""

    def dot_scaled(self: Any, *args: Any, **kwargs: Any) -> Any:
        wrapped = (tl.constexpr(arg) if isinstance(arg, str) else arg for arg in args)
        return original(self, *wrapped, **kwargs)

    return dot_scaled


_E8M0_NAN = 255
_FP4 = ir.ScaleDotElemTypeTY.E2M1
# The values of e2m1, of which the lowest three bits are the magnitude and the fourth is the sign.
_E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6], dtype=np.float32)


def dot_scaled(
    self: Any,
    a: Any,
    a_scale: Any,
    a_format: Any,
    b: Any,
    b_scale: Any,
    b_format: Any,
    fast_math: bool,
    a_k_pack: bool,
    b_k_pack: bool,
    d: Any,
) -> Any:
    """The builder's `create_dot_scaled`, as the microscaling formats are defined.

    a is [..., M, K], b [..., K, N]; 4-bit values are packed in pairs, the lower bits first, along K or,
    if not k_pack, along the other dimension. Scales are [..., M, K/32] and [..., N, K/32] exponents of
    two (e8m0), or [..., K/16] of e4m3. Source: OCP Microscaling Formats (MX), version 1.0.
    """
    left = _decoded(a, a_format, -1 if a_k_pack else -2)
    right = _decoded(b, b_format, -2 if b_k_pack else -1)
    if a_scale is not None:
        left = _scaled(left, a_scale.data)
    if b_scale is not None:
        right = np.swapaxes(_scaled(np.swapaxes(right, -1, -2), b_scale.data), -1, -2)
    # All but float16 is exact in bfloat16 also when scaled, and is multiplied as such by GPUs without
    # instructions for it.
    kept = tl.float32 if ir.ScaleDotElemTypeTY.FP16 in (a_format, b_format) else tl.bfloat16
    left, right = (values.astype(floats.numpy_dtype(kept)) for values in (left, right))
    return self.create_dot(Handle(left, kept), Handle(right, kept), d, ir.INPUT_PRECISION.IEEE, 0)


def _decoded(operand: Any, kind: Any, packed_along: int) -> Array:
    if kind != _FP4:
        values: Array = operand.data.astype(np.float32)
        return values
    packed = operand.data.astype(np.uint8)
    pairs = np.stack([_E2M1[packed & 15], _E2M1[packed >> 4]], axis=packed.ndim + packed_along + 1)
    shape = list(packed.shape)
    shape[packed_along] *= 2
    return pairs.reshape(shape)


def _scaled(values: Array, scales: Array) -> Array:
    """Each run of values along the last axis times its scale."""
    if scales.dtype == floats.E4M3:
        factors = scales.astype(np.float32)
    else:
        bits = scales.view(np.uint8).astype(np.int32)
        factors = np.ldexp(np.float32(1), bits - 127)
        factors = np.where(bits == _E8M0_NAN, np.float32(np.nan), factors)
    return values * np.repeat(factors, values.shape[-1] // scales.shape[-1], axis=-1)
