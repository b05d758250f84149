"""The lanes of one access to memory: which elements they touch, what they write, what lies there."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np

from .shadow import Array, View


@dataclass(frozen=True)
class Access:
    """The active lanes of one load, store or atomic operation on one tensor."""

    view: View
    addresses: Array
    elements: Array  # in elements of the memory
    lanes: Array  # flat positions in the block
    line: int


def quarrels(elements: Array, values: Array) -> Array:
    """Which lanes write an element that another lane of the same store writes differently."""
    order = np.argsort(elements, kind="stable")
    ordered, written = elements[order], bits(values)[order]
    wrong = np.zeros(len(elements), dtype=bool)
    same = ordered[1:] == ordered[:-1]
    wrong[order[1:]] = same & (written[1:] != written[:-1])
    return wrong


def bits(values: Array) -> Array:
    return np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}")


def current(access: Access, values: Array) -> Array:
    """The bits that lie in memory where `values` are about to be written."""
    memory = access.view.memory
    size = values.dtype.itemsize
    raw = (np.ctypeslib.as_array(_pointer(memory.start), shape=(memory.size,))).view(np.uint8)
    offsets = access.addresses - memory.start
    gathered = raw[offsets[:, None] + np.arange(size)[None, :]]
    return np.ascontiguousarray(gathered).view(f"u{size}").reshape(-1)


def _pointer(address: int) -> Any:
    return ctypes.cast(address, ctypes.POINTER(ctypes.c_uint8))
