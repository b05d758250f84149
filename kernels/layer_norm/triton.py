"""Layer norm, backward: one read of the data for all three gradients, partial sums for two of them.

See notes.md for the way here from the derivation, triton_atomics.py for the shorter way.
"""

import torch
import triton
import triton.language as tl

TILE = 4096  # elements of a tile of short rows: with both sums beside it, what registers hold


@triton.jit
def _rows(
    dy_ptr,
    x_ptr,
    w_ptr,
    mean_ptr,
    rstd_ptr,
    dx_ptr,
    partial_ptr,
    M,
    N,
    dy_row,
    dy_col,
    x_row,
    x_col,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """dx for every P-th tile of rows, and this program's share of both sums as row pid of partial."""
    pid = tl.program_id(0)
    programs = tl.num_programs(0)
    cols = tl.arange(0, BLOCK_N)
    in_row = cols < N
    w = tl.load(w_ptr + cols, mask=in_row, other=0.0).to(tl.float32)[None, :]
    dw = tl.zeros((BLOCK_N,), dtype=tl.float32)
    db = tl.zeros((BLOCK_N,), dtype=tl.float32)

    for tile in range(pid, tl.cdiv(M, BLOCK_M), programs):
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

    at_partial = partial_ptr + pid.to(tl.int64) * N + cols
    tl.store(at_partial, dw, mask=in_row)
    tl.store(at_partial + programs.to(tl.int64) * N, db, mask=in_row)


@triton.jit
def _sum_partials(partial_ptr, dw_ptr, db_ptr, P, N, BLOCK_P: tl.constexpr, BLOCK_N: tl.constexpr):
    """dweight or dbias for one block of columns: the sum over the P rows of a half of (2, P, N)."""
    half = tl.program_id(1).to(tl.int64)
    cols = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    partial_ptr += half * P * N
    total = tl.zeros((BLOCK_N,), dtype=tl.float32)
    for start in range(0, P, BLOCK_P):
        rows = start + tl.arange(0, BLOCK_P)
        inside = (rows < P)[:, None] & (cols < N)[None, :]
        at = rows.to(tl.int64)[:, None] * N + cols[None, :]
        total += tl.sum(tl.load(partial_ptr + at, mask=inside, other=0.0), axis=0)
    if half == 0:
        tl.store(dw_ptr + cols, total, mask=cols < N)
    else:
        tl.store(db_ptr + cols, total, mask=cols < N)


def backward(grad_output, x, weight, mean, rstd):
    """dx (M, N) in x's dtype, dweight and dbias (N,) in float32; any strides of grad_output and x."""
    M, N = x.shape
    dx = torch.empty((M, N), dtype=x.dtype, device=x.device)
    dweight = torch.empty((N,), dtype=torch.float32, device=x.device)
    dbias = torch.empty((N,), dtype=torch.float32, device=x.device)

    BLOCK_N = triton.next_power_of_2(N)
    BLOCK_M = max(1, min(TILE // BLOCK_N, 64, triton.next_power_of_2(M)))
    programs = min(_processors(x.device), triton.cdiv(M, BLOCK_M))
    partial = torch.empty((2, programs, N), dtype=torch.float32, device=x.device)
    _rows[(programs,)](
        grad_output,
        x,
        weight,
        mean,
        rstd,
        dx,
        partial,
        M,
        N,
        *grad_output.stride(),
        *x.stride(),
        BLOCK_M=BLOCK_M,
        BLOCK_N=BLOCK_N,
        num_warps=min(max(BLOCK_M * BLOCK_N // 512, 4), 16),
    )
    columns = min(BLOCK_N, 64)
    _sum_partials[(triton.cdiv(N, columns), 2)](
        partial, dweight, dbias, programs, N, BLOCK_P=32, BLOCK_N=columns
    )
    return dx, dweight, dbias


def _processors(device):
    """As many programs as run side by side, so that each keeps one row of partial sums."""
    if device.type == "cuda":
        return torch.cuda.get_device_properties(device).multi_processor_count
    return 8
