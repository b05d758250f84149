"""Runs a small kernel while a session waits, so that no submission pays for what happens only once.

The first call of a kernel in a process rewrites its source, patches the language and starts the threads
of the linear algebra library: together some tenths of a second.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

SIZE = 16


@triton.jit  # type: ignore[untyped-decorator]  # triton has no types
def _kernel(x_ptr: Any, out_ptr: Any, columns: Any, SIZE: tl.constexpr) -> None:  # noqa: N803 - as kernels name constants
    rows = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    at = rows[:, None] * columns + tl.arange(0, SIZE)[None, :]
    mask = tl.arange(0, SIZE)[None, :] < columns
    x = tl.load(x_ptr + at, mask=mask, other=0.0)
    y = tl.dot(x, tl.trans(x)) + tl.sum(tl.exp(x.to(tl.float32)), axis=1)[:, None]
    tl.store(out_ptr + at, tl.where(mask, y, 0.0), mask=mask)


def run() -> None:
    """One launch, and one product of each dtype in PyTorch."""
    for dtype in (torch.bfloat16, torch.float32):
        x = torch.ones(2 * SIZE, SIZE, dtype=dtype)
        _kernel[(2,)](x, torch.empty(2 * SIZE, SIZE), SIZE, SIZE=SIZE)
        large = torch.ones(256, 256, dtype=dtype)
        (large @ large).sum(dim=0)
