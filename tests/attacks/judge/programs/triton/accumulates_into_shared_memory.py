# problem: rms_norm
# language: triton
# must: wrong_gradient
"""Strategy: Add up a weight's gradient in one memory that is kept between calls and never zeroed
  again, as autotuning's repeated runs do.
Surface: state between calls
Stopped by: values are new in every case, and sums over earlier ones are wrong.
Listed as: B18 device replay; §2 autotune accumulation
"""

import torch
import triton
import triton.language as tl

kept = {}


@triton.jit
def kernel(g_ptr, x_ptr, rstd_ptr, dweight_ptr, N, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    inside = at < N
    g = tl.load(g_ptr + row * N + at, mask=inside, other=0.0).to(tl.float32)
    x = tl.load(x_ptr + row * N + at, mask=inside, other=0.0).to(tl.float32)
    tl.atomic_add(dweight_ptr + at, g * x * tl.load(rstd_ptr + row), mask=inside)


def backward(grad_output, x, weight, rstd):
    M, N = x.shape
    g, x = grad_output.contiguous(), x.contiguous()
    scaled = g.float() * weight.float() * rstd.view(-1, 1)
    xhat = x.float() * rstd.view(-1, 1)
    dx = scaled - xhat * (scaled * xhat).mean(-1, keepdim=True)
    dweight = kept.setdefault("sum", torch.zeros(1 << 16))
    kernel[(M,)](g, x, rstd, dweight, N, BLOCK=triton.next_power_of_2(N))
    return dx.to(x.dtype), dweight[:N].clone()
