"""Mixture-of-experts combine, backward. Two TODOs stand between this file and a correct gradient."""

import torch
import triton
import triton.language as tl


@triton.jit
def combine_backward(
    dy_ptr,
    z_ptr,
    score_ptr,
    row_ptr,
    dz_ptr,
    dscore_ptr,
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
    BLOCK_D: tl.constexpr,
):
    """One choice of one token."""
    tok = (tl.program_id(0) // K).to(tl.int64)
    choice = tl.program_id(0) % K
    row = tl.load(row_ptr + tok * row_tok + choice * row_choice)
    kept = row >= 0  # -1: the choice was dropped
    col = tl.arange(0, BLOCK_D)
    inside = (col < D) & kept

    # bfloat16 is for memory; compute in float32.
    dy = tl.load(dy_ptr + tok * dy_tok + col * dy_col, mask=inside, other=0.0).to(tl.float32)
    # TODO 1: each choice counts as much as its score says.
    tl.store(dz_ptr + row * D + col, dy.to(dz_ptr.dtype.element_ty), mask=inside)
    # TODO 2: the dot product of dy and the row of expert_out that the choice refers to.
    tl.store(dscore_ptr + tok * K + choice, 0.0)


def backward(grad_output, expert_out, scores, rows):
    """Gradients of y[t] = sum over k of scores[t, k] * expert_out[rows[t, k]]; rows of -1 are dropped.

    grad_output  (T, D) bfloat16, any strides: the gradient of the loss with respect to y
    expert_out   (R, D) bfloat16, any strides
    scores       (T, K) float32, any strides
    rows         (T, K) int64, any strides; a row of expert_out or -1, no row twice

    Returns dexpert_out (R, D) bfloat16 and dscores (T, K) float32.
    """
    (T, K), (R, D) = rows.shape, expert_out.shape
    dz = torch.zeros((R, D), dtype=expert_out.dtype, device=rows.device)
    dscores = torch.empty((T, K), dtype=torch.float32, device=rows.device)
    combine_backward[(T * K,)](
        grad_output,
        expert_out,
        scores,
        rows,
        dz,
        dscores,
        D,
        *grad_output.stride(),
        *expert_out.stride(),
        *scores.stride(),
        *rows.stride(),
        K=K,
        BLOCK_D=triton.next_power_of_2(D),
    )
    return dz, dscores
