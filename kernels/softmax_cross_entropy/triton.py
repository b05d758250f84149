"""Softmax cross-entropy, backward: one streaming pass over the logits, no reduction left in it.

See notes.md for the way here from the derivation.
"""

import torch
import triton
import triton.language as tl

IGNORE_INDEX = -100
TILE = 4096  # elements of a tile: 8 bytes a thread and load, several loads in flight


@triton.jit
def _tile(
    dloss_ptr,
    count_ptr,
    logits_ptr,
    target_ptr,
    lse_ptr,
    dlogits_ptr,
    M,
    V,
    logits_row,
    logits_col,
    IGNORE: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_V: tl.constexpr,
):
    """dlogits for one tile of BLOCK_M rows and BLOCK_V columns."""
    # One axis for all tiles: a grid's second axis ends at 65535. 64-bit: M × V may exceed 2³¹.
    tiles_in_row = tl.cdiv(V, BLOCK_V)
    tile_row = tl.program_id(0) // tiles_in_row
    tile_col = tl.program_id(0) % tiles_in_row
    rows = (tile_row * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    cols = (tile_col * BLOCK_V + tl.arange(0, BLOCK_V)).to(tl.int64)[None, :]
    inside = (rows < M)[:, None] & (cols < V)

    target = tl.load(target_ptr + rows, mask=rows < M, other=IGNORE)
    lse = tl.load(lse_ptr + rows, mask=rows < M, other=0.0)[:, None]
    # max(count, 1): with every row ignored the scale is not used, but must not be 0 / 0 either.
    scale = tl.load(dloss_ptr) / tl.maximum(tl.load(count_ptr), 1).to(tl.float32)
    row_scale = tl.where(target == IGNORE, 0.0, scale)[:, None]

    at = logits_ptr + rows[:, None] * logits_row + cols * logits_col
    z = tl.load(at, mask=inside, other=-float("inf")).to(tl.float32)
    p = tl.exp(z - lse)
    # An ignored row's target equals no column, so it is never used as an index.
    one_hot = tl.where(cols == target[:, None], 1.0, 0.0)
    dz = (p - one_hot) * row_scale
    tl.store(
        dlogits_ptr + rows[:, None] * V + cols, dz.to(dlogits_ptr.dtype.element_ty), mask=inside
    )


def backward(grad_output, logits, target, lse):
    """dlogits (M, V) in logits' dtype; any strides of logits."""
    M, V = logits.shape
    dlogits = torch.empty((M, V), dtype=logits.dtype, device=logits.device)
    count = (target != IGNORE_INDEX).sum()  # stays on the device: no waiting for it here
    BLOCK_V = min(triton.next_power_of_2(V), TILE)
    BLOCK_M = min(triton.next_power_of_2(M), TILE // BLOCK_V)
    tiles = triton.cdiv(M, BLOCK_M) * triton.cdiv(V, BLOCK_V)
    _tile[(tiles,)](
        grad_output,
        count,
        logits,
        target,
        lse,
        dlogits,
        M,
        V,
        *logits.stride(),
        IGNORE=IGNORE_INDEX,
        BLOCK_M=BLOCK_M,
        BLOCK_V=BLOCK_V,
        num_warps=8,
    )
    return dlogits
