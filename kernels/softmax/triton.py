"""Softmax, backward: a row stays on chip from its sum to its gradient; a long row is read twice.

See notes.md for the way here from the derivation.
"""

import torch
import triton
import triton.language as tl

TILE = 8192  # elements of a tile of short rows: enough loads in flight, few enough for registers
LONGEST = 16384  # columns of a row that stays in registers
CHUNK = 4096  # columns that a program holds at once of a longer row


@triton.jit
def _whole_rows(
    dy_ptr,
    y_ptr,
    dx_ptr,
    M,
    N,
    dy_row,
    dy_col,
    y_row,
    y_col,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """dx for a tile of whole rows, each element read once."""
    # 64-bit: M × N may exceed 2³¹ elements, and so may an index times a stride.
    rows = (tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)[:, None]
    cols = tl.arange(0, BLOCK_N).to(tl.int64)[None, :]
    inside = (rows < M) & (cols < N)

    # Lanes outside are 0 in both, so they add nothing to the sum.
    dy = tl.load(dy_ptr + rows * dy_row + cols * dy_col, mask=inside, other=0.0).to(tl.float32)
    y = tl.load(y_ptr + rows * y_row + cols * y_col, mask=inside, other=0.0).to(tl.float32)
    s = tl.sum(dy * y, axis=1)[:, None]
    dx = y * (dy - s)
    tl.store(dx_ptr + rows * N + cols, dx.to(dx_ptr.dtype.element_ty), mask=inside)


@triton.jit
def _long_row(dy_ptr, y_ptr, dx_ptr, N, dy_row, dy_col, y_row, y_col, BLOCK_N: tl.constexpr):
    """dx for one row in two loops over its columns: one for the sum, one for the result."""
    row = tl.program_id(0).to(tl.int64)
    dy_ptr += row * dy_row
    y_ptr += row * y_row
    dx_ptr += row * N

    # One running sum for each lane; the lanes are added up once, after the loop.
    partial = tl.zeros((BLOCK_N,), dtype=tl.float32)
    for start in range(0, N, BLOCK_N):
        cols = (start + tl.arange(0, BLOCK_N)).to(tl.int64)
        dy = tl.load(dy_ptr + cols * dy_col, mask=cols < N, other=0.0).to(tl.float32)
        y = tl.load(y_ptr + cols * y_col, mask=cols < N, other=0.0).to(tl.float32)
        partial += dy * y
    s = tl.sum(partial, axis=0)

    # The last columns were read last: going backwards, the cache still has them.
    blocks = tl.cdiv(N, BLOCK_N)
    for block in range(blocks):
        cols = ((blocks - 1 - block) * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)
        dy = tl.load(dy_ptr + cols * dy_col, mask=cols < N, other=0.0).to(tl.float32)
        y = tl.load(y_ptr + cols * y_col, mask=cols < N, other=0.0).to(tl.float32)
        dx = y * (dy - s)
        tl.store(dx_ptr + cols, dx.to(dx_ptr.dtype.element_ty), mask=cols < N)


def backward(grad_output, y):
    """dx (M, N) in y's dtype; any strides of grad_output and y."""
    M, N = y.shape
    dx = torch.empty((M, N), dtype=y.dtype, device=y.device)
    strides = (*grad_output.stride(), *y.stride())
    if N > LONGEST:
        _long_row[(M,)](grad_output, y, dx, N, *strides, BLOCK_N=CHUNK, num_warps=8)
        return dx
    BLOCK_N = triton.next_power_of_2(N)
    BLOCK_M = max(1, min(TILE // BLOCK_N, triton.next_power_of_2(M)))
    _whole_rows[(triton.cdiv(M, BLOCK_M),)](
        grad_output,
        y,
        dx,
        M,
        N,
        *strides,
        BLOCK_M=BLOCK_M,
        BLOCK_N=BLOCK_N,
        num_warps=min(max(BLOCK_M * BLOCK_N // 512, 4), 16),
    )
    return dx
