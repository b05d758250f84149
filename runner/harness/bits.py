"""What libdevice does with the bits of integers. Runs inside the sandbox."""

from __future__ import annotations

from typing import Any

import numpy as np

from .floats import Array


def unsigned(x: Array) -> Any:
    """The same bits without a sign."""
    return x.view(f"u{x.dtype.itemsize}")


def leading_zeros(x: Array) -> Any:
    """How many bits before the first that is set; all, if none is."""
    bits = unsigned(x).copy()
    for shift in (1, 2, 4, 8, 16, 32):
        if shift < x.dtype.itemsize * 8:
            bits |= bits >> bits.dtype.type(shift)
    return x.dtype.itemsize * 8 - np.bitwise_count(bits)


def first_set(x: Array) -> Any:
    """The place of the lowest bit that is set, counted from 1; 0 if none is."""
    bits = unsigned(x)
    lowest = bits & (~bits + bits.dtype.type(1))
    return np.where(bits == 0, 0, np.bitwise_count(lowest - bits.dtype.type(1)) + 1)


def reversed_bits(x: Array) -> Any:
    """Each number with its bits in reverse order."""
    flat = np.ascontiguousarray(x)
    as_bytes = flat.view(np.uint8).reshape(*flat.shape, flat.dtype.itemsize)
    bits = np.unpackbits(as_bytes, axis=-1, bitorder="little")[..., ::-1]
    packed: Array = np.packbits(bits, axis=-1, bitorder="little")
    return packed.reshape(-1).view(flat.dtype).reshape(flat.shape)


def high_product(x: Array, y: Array) -> Any:
    """The upper half of the product twice as wide."""
    bits = x.dtype.itemsize * 8
    product = x.astype(object) * y.astype(object)
    return (product >> bits).astype(x.dtype)


def low_24(x: Array) -> Any:
    """The lowest 24 bits of 32, extended by the highest of them."""
    shift = x.dtype.type(8)
    return (x << shift) >> shift
