"""Layer norm, backward, with atomics: one kernel and no buffer, but last bits that vary between runs.

See notes.md for what that costs against triton.py.
"""

import torch
import triton
import triton.language as tl

TILE = 4096  # elements of a tile of short rows: with both sums beside it, what registers hold
ROWS = 32  # that a program takes: each adds N numbers twice, so more rows mean fewer atomics


@triton.jit
def _rows(
    dy_ptr,
    x_ptr,
    w_ptr,
    mean_ptr,
    rstd_ptr,
    dx_ptr,
    dw_ptr,
    db_ptr,
    M,
    N,
    dy_row,
    dy_col,
    x_row,
    x_col,
    TILES: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """dx for TILES · BLOCK_M rows in a row; what they add to both sums is added atomically."""
    cols = tl.arange(0, BLOCK_N)
    in_row = cols < N
    w = tl.load(w_ptr + cols, mask=in_row, other=0.0).to(tl.float32)[None, :]
    dw = tl.zeros((BLOCK_N,), dtype=tl.float32)
    db = tl.zeros((BLOCK_N,), dtype=tl.float32)

    first = tl.program_id(0) * TILES
    for tile in range(first, min(first + TILES, tl.cdiv(M, BLOCK_M))):
        # 64-bit: M × N may exceed 2³¹ elements, and so may an index times a stride.
        rows = (tile * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
        in_tile = (rows < M)[:, None] & in_row[None, :]
        at_dy = rows[:, None] * dy_row + cols.to(tl.int64)[None, :] * dy_col
        at_x = rows[:, None] * x_row + cols.to(tl.int64)[None, :] * x_col
        dy = tl.load(dy_ptr + at_dy, mask=in_tile, other=0.0).to(tl.float32)
        x = tl.load(x_ptr + at_x, mask=in_tile, other=0.0).to(tl.float32)
        mean = tl.load(mean_ptr + rows, mask=rows < M, other=0.0)[:, None]
        rstd = tl.load(rstd_ptr + rows, mask=rows < M, other=0.0)[:, None]

        # Beyond the row x̂ is −mean · rstd and not 0, but dy and g are 0 there, and so are all products.
        x_hat = (x - mean) * rstd
        g = dy * w
        c1 = tl.sum(g, axis=1)[:, None] / N
        c2 = tl.sum(g * x_hat, axis=1)[:, None] / N
        dx = rstd * (g - c1 - x_hat * c2)
        dw += tl.sum(dy * x_hat, axis=0)
        db += tl.sum(dy, axis=0)

        at_dx = rows[:, None] * N + cols[None, :]
        tl.store(dx_ptr + at_dx, dx.to(dx_ptr.dtype.element_ty), mask=in_tile)

    # Nobody reads the sums before the kernel ends, so nothing needs to be ordered around the additions.
    tl.atomic_add(dw_ptr + cols, dw, mask=in_row, sem="relaxed")
    tl.atomic_add(db_ptr + cols, db, mask=in_row, sem="relaxed")


def backward(grad_output, x, weight, mean, rstd):
    """dx (M, N) in x's dtype, dweight and dbias (N,) in float32; any strides of grad_output and x."""
    M, N = x.shape
    dx = torch.empty((M, N), dtype=x.dtype, device=x.device)
    # Atomics add to what is there.
    dweight = torch.zeros((N,), dtype=torch.float32, device=x.device)
    dbias = torch.zeros((N,), dtype=torch.float32, device=x.device)

    BLOCK_N = triton.next_power_of_2(N)
    BLOCK_M = max(1, min(TILE // BLOCK_N, ROWS, triton.next_power_of_2(M)))
    TILES = max(1, ROWS // BLOCK_M)
    _rows[(triton.cdiv(M, TILES * BLOCK_M),)](
        grad_output,
        x,
        weight,
        mean,
        rstd,
        dx,
        dweight,
        dbias,
        M,
        N,
        *grad_output.stride(),
        *x.stride(),
        TILES=TILES,
        BLOCK_M=BLOCK_M,
        BLOCK_N=BLOCK_N,
        num_warps=min(max(BLOCK_M * BLOCK_N // 512, 4), 16),
    )
    return dx, dweight, dbias
