"""Squared ReLU, backward: tiles of rows and columns, each tensor through its own strides.

See notes.md for the way here from the derivation.
"""

import torch
import triton
import triton.language as tl

TILE = 4096  # elements of a tile: 8 bytes a thread and load, several loads in flight


@triton.jit
def _tile(
    dy_ptr,
    x_ptr,
    dx_ptr,
    M,
    N,
    dy_row,
    dy_col,
    x_row,
    x_col,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """dx for one tile of BLOCK_M rows and BLOCK_N columns."""
    # One axis for all tiles: a grid's second axis ends at 65535. 64-bit: M × N may exceed 2³¹.
    tiles_in_row = tl.cdiv(N, BLOCK_N)
    tile_row = tl.program_id(0) // tiles_in_row
    tile_col = tl.program_id(0) % tiles_in_row
    rows = (tile_row * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)[:, None]
    cols = (tile_col * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)[None, :]
    inside = (rows < M) & (cols < N)

    dy = tl.load(dy_ptr + rows * dy_row + cols * dy_col, mask=inside, other=0.0).to(tl.float32)
    x = tl.load(x_ptr + rows * x_row + cols * x_col, mask=inside, other=0.0).to(tl.float32)
    dx = 2.0 * dy * tl.maximum(x, 0.0)
    tl.store(dx_ptr + rows * N + cols, dx.to(dx_ptr.dtype.element_ty), mask=inside)


def backward(grad_output, x):
    """dx (M, N) in x's dtype; any strides of grad_output and x."""
    M, N = x.shape
    dx = torch.empty((M, N), dtype=x.dtype, device=x.device)
    BLOCK_N = min(triton.next_power_of_2(N), 1024)
    BLOCK_M = min(triton.next_power_of_2(M), TILE // BLOCK_N)
    tiles = triton.cdiv(M, BLOCK_M) * triton.cdiv(N, BLOCK_N)
    _tile[(tiles,)](
        grad_output,
        x,
        dx,
        M,
        N,
        *grad_output.stride(),
        *x.stride(),
        BLOCK_M=BLOCK_M,
        BLOCK_N=BLOCK_N,
        num_warps=8,
    )
    return dx
