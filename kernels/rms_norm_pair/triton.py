"""RMSNorm, forward and backward: x alone is saved, and backward computes the row statistic anew.

See notes.md for the way here from the derivation.
"""

import torch
import triton
import triton.language as tl

EPS = 1e-6
TILE = 8192  # elements of a tile: rows_per_tile × BLOCK_N, about what registers hold


@triton.jit
def _normalise(
    x_ptr,
    w_ptr,
    y_ptr,
    M,
    N,
    x_row,
    x_col,
    eps,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """y for one tile of rows."""
    cols = tl.arange(0, BLOCK_N)
    in_row = cols < N
    # 64-bit: M × N may exceed 2³¹ elements, and so may an index times a stride.
    rows = (tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    in_tile = (rows < M)[:, None] & in_row[None, :]
    at_x = rows[:, None] * x_row + cols.to(tl.int64)[None, :] * x_col
    x = tl.load(x_ptr + at_x, mask=in_tile, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + cols, mask=in_row, other=0.0).to(tl.float32)[None, :]
    rstd = 1.0 / tl.sqrt(tl.sum(x * x, axis=1)[:, None] / N + eps)
    y = x * rstd * w
    at_y = rows[:, None] * N + cols[None, :]
    tl.store(y_ptr + at_y, y.to(y_ptr.dtype.element_ty), mask=in_tile)


@triton.jit
def _rows(
    dy_ptr,
    x_ptr,
    w_ptr,
    dx_ptr,
    partial_ptr,
    M,
    N,
    dy_row,
    dy_col,
    x_row,
    x_col,
    eps,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """dx for every P-th tile of rows, and this program's share of dweight as row pid of partial."""
    pid = tl.program_id(0)
    programs = tl.num_programs(0)
    cols = tl.arange(0, BLOCK_N)
    in_row = cols < N
    w = tl.load(w_ptr + cols, mask=in_row, other=0.0).to(tl.float32)[None, :]
    dw = tl.zeros((BLOCK_N,), dtype=tl.float32)

    for tile in range(pid, tl.cdiv(M, BLOCK_M), programs):
        # 64-bit: M × N may exceed 2³¹ elements, and so may an index times a stride.
        rows = (tile * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
        in_tile = (rows < M)[:, None] & in_row[None, :]
        at_dy = rows[:, None] * dy_row + cols.to(tl.int64)[None, :] * dy_col
        at_x = rows[:, None] * x_row + cols.to(tl.int64)[None, :] * x_col
        dy = tl.load(dy_ptr + at_dy, mask=in_tile, other=0.0).to(tl.float32)
        x = tl.load(x_ptr + at_x, mask=in_tile, other=0.0).to(tl.float32)

        # The row is in registers anyway: its statistic costs two FLOPs an element and no read.
        rstd = 1.0 / tl.sqrt(tl.sum(x * x, axis=1)[:, None] / N + eps)
        x_hat = x * rstd
        g = dy * w
        c = tl.sum(g * x_hat, axis=1)[:, None] / N
        dx = rstd * (g - x_hat * c)
        # Rows beyond M were loaded as zeros, so they add nothing here.
        dw += tl.sum(dy * x_hat, axis=0)

        at_dx = rows[:, None] * N + cols[None, :]
        tl.store(dx_ptr + at_dx, dx.to(dx_ptr.dtype.element_ty), mask=in_tile)

    tl.store(partial_ptr + pid.to(tl.int64) * N + cols, dw, mask=in_row)


@triton.jit
def _sum_partials(partial_ptr, dw_ptr, P, N, BLOCK_P: tl.constexpr, BLOCK_N: tl.constexpr):
    """dweight for one block of columns: the sum over the P rows of partial."""
    cols = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    total = tl.zeros((BLOCK_N,), dtype=tl.float32)
    for start in range(0, P, BLOCK_P):
        rows = start + tl.arange(0, BLOCK_P)
        inside = (rows < P)[:, None] & (cols < N)[None, :]
        at = rows.to(tl.int64)[:, None] * N + cols[None, :]
        total += tl.sum(tl.load(partial_ptr + at, mask=inside, other=0.0), axis=0)
    tl.store(dw_ptr + cols, total, mask=cols < N)


def forward(x, weight):
    """y (M, N) in x's dtype, and what is saved: x alone; any strides of x."""
    M, N = x.shape
    y = torch.empty((M, N), dtype=x.dtype, device=x.device)
    BLOCK_M, BLOCK_N, num_warps = _tile(M, N)
    _normalise[(triton.cdiv(M, BLOCK_M),)](
        x,
        weight,
        y,
        M,
        N,
        *x.stride(),
        EPS,
        BLOCK_M=BLOCK_M,
        BLOCK_N=BLOCK_N,
        num_warps=num_warps,
    )
    return y, (x,)


def backward(grad_output, saved, weight):
    """dx (M, N) in x's dtype and dweight (N,) in float32; any strides of grad_output and x."""
    (x,) = saved
    M, N = x.shape
    dx = torch.empty((M, N), dtype=x.dtype, device=x.device)
    dweight = torch.empty((N,), dtype=torch.float32, device=x.device)
    BLOCK_M, BLOCK_N, num_warps = _tile(M, N)
    programs = min(_processors(x.device), triton.cdiv(M, BLOCK_M))
    partial = torch.empty((programs, N), dtype=torch.float32, device=x.device)
    _rows[(programs,)](
        grad_output,
        x,
        weight,
        dx,
        partial,
        M,
        N,
        *grad_output.stride(),
        *x.stride(),
        EPS,
        BLOCK_M=BLOCK_M,
        BLOCK_N=BLOCK_N,
        num_warps=num_warps,
    )
    columns = min(BLOCK_N, 64)
    _sum_partials[(triton.cdiv(N, columns),)](
        partial, dweight, programs, N, BLOCK_P=32, BLOCK_N=columns
    )
    return dx, dweight


def _tile(M, N):
    """Rows and columns of a tile, which holds whole rows, and the warps for it."""
    BLOCK_N = triton.next_power_of_2(N)
    BLOCK_M = max(1, min(TILE // BLOCK_N, 64, triton.next_power_of_2(M)))
    return BLOCK_M, BLOCK_N, min(max(BLOCK_M * BLOCK_N // 512, 4), 16)


def _processors(device):
    """As many programs as run side by side, so that each keeps one row of partial sums."""
    if device.type == "cuda":
        return torch.cuda.get_device_properties(device).multi_processor_count
    return 8
