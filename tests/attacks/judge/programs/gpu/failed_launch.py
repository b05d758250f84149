# problem: relu_squared
# language: triton
# must: refused
# needs: gpu
"""Strategy: Ask for more shared memory than there is and never look at the error: whatever lies in
  the output is returned.
Surface: launches that fail silently
Stopped by: outputs are poisoned, errors of the device are asked for.
Listed as: C36 partial/failed launch
"""

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, dx_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(dx_ptr + at, tl.sort(tl.load(x_ptr + at)))


def backward(grad_output, x):
    dx = torch.empty_like(x)
    try:
        kernel[(1,)](x, dx, BLOCK=1 << 20)
    except Exception:
        return dx
    return dx
