"""What only hardware can do, answered with what to do instead.

Runs inside the sandbox.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import triton.language as tl
from triton.runtime import interpreter

from . import floats

_INLINE_ASM = (
    "inline PTX runs on NVIDIA GPUs only, and the interpreter that checks kernels here has none: write "
    "it with operations of triton.language (tl.math, tl.extra.cuda.libdevice). To see what it compiles "
    "to, look inside the kernel"
)


class NeedsHardware(NotImplementedError):
    """An operation that the interpreter cannot stand for; the message says what to use."""


def install() -> None:
    """Give what the interpreter refuses a message that says what to do."""
    interpreter.InterpreterBuilder.create_inline_asm = _inline_asm


def _inline_asm(self: Any, *args: Any) -> Any:
    raise NeedsHardware(_INLINE_ASM)


_BY_NAME = {
    dtype.name: dtype
    for dtype in (tl.float16, tl.bfloat16, tl.float32, tl.float64, tl.float8e4nv, tl.float8e5)
}
_BY_NAME |= {dtype.name: dtype for dtype in (tl.int1, tl.float8e4b15)}
_BY_NAME |= {
    f"{sign}int{n}": getattr(tl, f"{sign}int{n}") for sign in ("", "u") for n in (8, 16, 32, 64)
}


def named(original: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """`tl.dtype.to_ir`, which in the interpreter is the dtype itself; says which NVIDIA's GPUs lack."""

    def to_ir(self: Any, builder: Any) -> Any:
        known = _BY_NAME.get(self.name)
        if known is not None:
            return known
        if self in floats.OF_AMD:
            raise TypeError(floats.OF_AMD_ONLY)
        return original(self, builder)

    return to_ir
