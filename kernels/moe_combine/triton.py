"""Mixture-of-experts combine, backward: one gather of the experts' rows serves both gradients.

See notes.md for the way here from the derivation.
"""

import torch
import triton
import triton.language as tl

TILE = 2048  # elements of a tile: tokens × columns


@triton.jit
def _tokens(
    dy_ptr,
    z_ptr,
    score_ptr,
    row_ptr,
    dz_ptr,
    dscore_ptr,
    taken_ptr,
    T,
    D,
    dy_tok,
    dy_col,
    z_row,
    z_col,
    score_tok,
    score_choice,
    row_tok,
    row_choice,
    K: tl.constexpr,
    BLOCK_T: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    """For a block of tokens: dscores of all their choices, and dz of the rows they chose."""
    # 64-bit: R × D may exceed 2³¹, and so may an index times a stride. Rows are 64-bit as given.
    tok = tl.program_id(0).to(tl.int64) * BLOCK_T + tl.arange(0, BLOCK_T)
    in_block = tok < T
    dy_at = dy_ptr + tok[:, None] * dy_tok
    for choice in range(K):
        row = tl.load(row_ptr + tok * row_tok + choice * row_choice, mask=in_block, other=-1)
        score = tl.load(
            score_ptr + tok * score_tok + choice * score_choice, mask=in_block, other=0.0
        )
        kept = row >= 0  # a dropped choice has no row: neither read nor written, and no gradient
        z_at = z_ptr + row[:, None] * z_row
        dz_at = dz_ptr + row[:, None] * D
        dot = tl.zeros((BLOCK_T,), dtype=tl.float32)
        for start in range(0, D, BLOCK_D):
            col = (start + tl.arange(0, BLOCK_D)).to(tl.int64)[None, :]
            inside = kept[:, None] & (col < D)
            # The same row of dy for every choice: from memory once, then from the cache.
            dy = tl.load(dy_at + col * dy_col, mask=inside, other=0.0).to(tl.float32)
            z = tl.load(z_at + col * z_col, mask=inside, other=0.0).to(tl.float32)
            dot += tl.sum(dy * z, axis=1)
            dz = score[:, None] * dy
            tl.store(dz_at + col, dz.to(dz_ptr.dtype.element_ty), mask=inside)
        tl.store(dscore_ptr + tok * K + choice, dot, mask=in_block)
        tl.store(taken_ptr + row, tl.full((BLOCK_T,), 1, tl.int8), mask=kept)


@triton.jit
def _zero_padding(taken_ptr, dz_ptr, R, D, BLOCK_R: tl.constexpr, BLOCK_D: tl.constexpr):
    """Zeros in the rows of dz that no token chose."""
    row = tl.program_id(0) * BLOCK_R + tl.arange(0, BLOCK_R).to(tl.int64)
    padding = tl.load(taken_ptr + row, mask=row < R, other=1) == 0
    if tl.max(padding.to(tl.int32), axis=0) > 0:  # most blocks have none
        for start in range(0, D, BLOCK_D):
            col = start + tl.arange(0, BLOCK_D)[None, :]
            zero = tl.zeros((BLOCK_R, BLOCK_D), dtype=dz_ptr.dtype.element_ty)
            tl.store(dz_ptr + row[:, None] * D + col, zero, mask=padding[:, None] & (col < D))


def backward(grad_output, expert_out, scores, rows):
    """dexpert_out (R, D) in expert_out's dtype and dscores (T, K) in float32; any strides."""
    (T, K), (R, D) = rows.shape, expert_out.shape
    device = expert_out.device
    dz = torch.empty((R, D), dtype=expert_out.dtype, device=device)
    dscores = torch.empty((T, K), dtype=torch.float32, device=device)
    taken = torch.zeros((R,), dtype=torch.int8, device=device)

    BLOCK_D = min(triton.next_power_of_2(D), TILE)
    BLOCK_T = min(max(TILE // BLOCK_D, 1), triton.next_power_of_2(T), 16)
    _tokens[(triton.cdiv(T, BLOCK_T),)](
        grad_output,
        expert_out,
        scores,
        rows,
        dz,
        dscores,
        taken,
        T,
        D,
        *grad_output.stride(),
        *expert_out.stride(),
        *scores.stride(),
        *rows.stride(),
        K=K,
        BLOCK_T=BLOCK_T,
        BLOCK_D=BLOCK_D,
        num_warps=min(max(BLOCK_T * BLOCK_D // 256, 1), 8),
    )
    BLOCK_R = min(triton.next_power_of_2(R), 16)
    _zero_padding[(triton.cdiv(R, BLOCK_R),)](
        taken, dz, R, D, BLOCK_R=BLOCK_R, BLOCK_D=min(BLOCK_D, 256)
    )
    return dz, dscores
