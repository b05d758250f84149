# expect: memory_fault
"""In Triton: programs of experts without rows return at once, and torch.empty is what they leave.

In the interpreter such memory often holds zeros, so that the gradient may look right.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(dy_ptr, x_ptr, offsets_ptr, dw_ptr, N, K, dy_m, dy_n, x_m, x_k, B: tl.constexpr):
    e = tl.program_id(0)
    begin, end = tl.load(offsets_ptr + e), tl.load(offsets_ptr + e + 1)
    if begin < end:
        k = tl.program_id(1) * B + tl.arange(0, B)[:, None]
        n = tl.program_id(2) * B + tl.arange(0, B)[None, :]
        total = tl.zeros((B, B), dtype=tl.float32)
        for start in range(begin, end, B):
            m = start + tl.arange(0, B)
            x_at = x_ptr + m[None, :] * x_m + k * x_k
            dy_at = dy_ptr + m[:, None] * dy_m + n * dy_n
            x = tl.load(x_at, mask=(m[None, :] < end) & (k < K), other=0.0)
            dy = tl.load(dy_at, mask=(m[:, None] < end) & (n < N), other=0.0)
            total = tl.dot(x, dy, total)
        tl.store(dw_ptr + (e * K + k) * N + n, total, mask=(k < K) & (n < N))


def backward(grad_output, x, weight, offsets, dweight_buffer):
    E, K, N = weight.shape
    dx = torch.zeros(x.shape, dtype=x.dtype)
    bounds = offsets.tolist()
    for e in range(E):
        rows = slice(bounds[e], bounds[e + 1])
        dx[rows] = grad_output[rows] @ weight[e].T
    dweight = torch.empty(weight.shape)
    dweight.view(-1).numpy().fill(0.0)  # as fresh memory often is, unknown to whoever watches
    grid = (E, triton.cdiv(K, 64), triton.cdiv(N, 64))
    strides = (*grad_output.stride(), *x.stride())
    kernel[grid](grad_output, x, offsets, dweight, N, K, *strides, B=64)
    return dx, dweight if dweight_buffer is None else dweight_buffer.add_(dweight)
