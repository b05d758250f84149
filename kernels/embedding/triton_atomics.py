"""Embedding, backward, by atomic additions: no sorting, each token adds its row where it belongs.

Short, and fast while ids differ. What it costs against triton.py is in notes.md: the order of the sums,
and the time when one id is hot.
"""

import torch
import triton
import triton.language as tl

PADDING = 0
TILE = 4096  # elements of a tile


@triton.jit
def _tokens(
    dy_ptr,
    ids_ptr,
    dw_ptr,
    M,
    N,
    dy_row,
    dy_col,
    PADDING: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """Adds one tile of grad_output to the rows of dweight that its tokens looked up."""
    blocks = tl.cdiv(N, BLOCK_N)
    tokens = (tl.program_id(0) // blocks) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = (tl.program_id(0) % blocks) * BLOCK_N + tl.arange(0, BLOCK_N)
    # A token beyond the end is padding, and padding adds nothing.
    ids = tl.load(ids_ptr + tokens, mask=tokens < M, other=PADDING)
    inside = (ids != PADDING)[:, None] & (cols < N)[None, :]
    at = tokens.to(tl.int64)[:, None] * dy_row + cols.to(tl.int64)[None, :] * dy_col
    dy = tl.load(dy_ptr + at, mask=inside, other=0.0).to(tl.float32)
    # Relaxed: nobody reads the sums before the kernel ends. ids are 64-bit, so the offsets are too.
    tl.atomic_add(dw_ptr + ids[:, None] * N + cols[None, :], dy, mask=inside, sem="relaxed")


def backward(grad_output, ids, weight):
    """dweight (V, N) in float32; any strides of grad_output. Sums in an order that changes."""
    (M, N), V = grad_output.shape, weight.shape[0]
    dweight = torch.zeros((V, N), dtype=torch.float32, device=ids.device)
    BLOCK_N = min(triton.next_power_of_2(N), 1024)
    BLOCK_M = max(1, min(TILE // BLOCK_N, triton.next_power_of_2(M)))
    tiles = triton.cdiv(M, BLOCK_M) * triton.cdiv(N, BLOCK_N)
    _tokens[(tiles,)](
        grad_output,
        ids,
        dweight,
        M,
        N,
        *grad_output.stride(),
        PADDING=PADDING,
        BLOCK_M=BLOCK_M,
        BLOCK_N=BLOCK_N,
        num_warps=4,
    )
    return dweight
