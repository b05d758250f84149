"""SwiGLU backward in Triton: one pass, three tiles read, two tiles written.

    y     = silu(gate) · up,            silu(g) = g · σ(g)
    dup   = dy · g · σ
    dgate = dy · up · σ · (1 + g · (1 − σ))

σ is recomputed from the gate: keeping it from the forward pass would be one more tensor to read.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def swiglu_backward_kernel(
    grad_output_ptr,
    gate_ptr,
    up_ptr,
    dgate_ptr,
    dup_ptr,
    M,
    N,
    grad_output_row_stride,
    grad_output_column_stride,
    gate_row_stride,
    gate_column_stride,
    up_row_stride,
    up_column_stride,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """One program: a BLOCK_M × BLOCK_N tile of both gradients. They are contiguous (M, N)."""
    blocks_per_row = tl.cdiv(N, BLOCK_N)
    row_block = tl.program_id(0) // blocks_per_row
    column_block = tl.program_id(0) % blocks_per_row

    # 64-bit rows: 2**31 elements are reached at 149 797 rows of Llama's 14336.
    rows = (row_block * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)[:, None]
    columns = (column_block * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)[None, :]
    inside = (rows < M) & (columns < N)

    # Each argument has strides of its own: gate and up are often two halves of one projection, and
    # the upstream gradient may even have stride 0.
    dy = tl.load(
        grad_output_ptr + rows * grad_output_row_stride + columns * grad_output_column_stride,
        mask=inside,
        other=0.0,
    ).to(tl.float32)
    g = tl.load(
        gate_ptr + rows * gate_row_stride + columns * gate_column_stride, mask=inside, other=0.0
    ).to(tl.float32)
    u = tl.load(
        up_ptr + rows * up_row_stride + columns * up_column_stride, mask=inside, other=0.0
    ).to(tl.float32)

    # 1 / (1 + exp(−g)) cannot become NaN: where exp(−g) overflows to infinity, σ is rightly 0.
    sigma = 1.0 / (1.0 + tl.exp(-g))
    silu = g * sigma
    silu_derivative = sigma + silu * (1.0 - sigma)
    dgate = dy * u * silu_derivative
    dup = dy * silu

    offsets = rows * N + columns
    tl.store(dgate_ptr + offsets, dgate.to(dgate_ptr.dtype.element_ty), mask=inside)
    tl.store(dup_ptr + offsets, dup.to(dup_ptr.dtype.element_ty), mask=inside)


def backward(grad_output, gate, up):
    """grad_output, gate, up: (M, N), bfloat16, any strides. Returns dgate, dup: (M, N), bfloat16."""
    M, N = gate.shape
    dgate = torch.empty((M, N), dtype=gate.dtype, device=gate.device)
    dup = torch.empty((M, N), dtype=up.dtype, device=up.device)
    BLOCK_M, BLOCK_N = 4, 1024
    grid = (triton.cdiv(M, BLOCK_M) * triton.cdiv(N, BLOCK_N),)
    swiglu_backward_kernel[grid](
        grad_output,
        gate,
        up,
        dgate,
        dup,
        M,
        N,
        *grad_output.stride(),
        *gate.stride(),
        *up.stride(),
        BLOCK_M=BLOCK_M,
        BLOCK_N=BLOCK_N,
        num_warps=8,
    )
    return dgate, dup
